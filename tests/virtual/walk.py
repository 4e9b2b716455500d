"""The other way to count: walk over all live tensors and add up their storages."""

from __future__ import annotations

import gc

from course.virtual.tensor import VirtualTensor


def bytes_by_walk(device: object) -> int:
    """Bytes of the distinct storages of all tensors on the device that are alive."""
    storages = {}
    for thing in gc.get_objects():
        if type(thing) is VirtualTensor and thing.device == device:
            storage = thing.content.untyped_storage()
            storages[storage._cdata] = storage.nbytes()
    return sum(storages.values())
