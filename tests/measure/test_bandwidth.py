"""The bandwidth of this machine's memory: sane numbers, and threads as they were."""

from __future__ import annotations

import torch

from course.measure.bandwidth import SIZES, caches, measure


def test_every_size_has_a_rate_that_a_machine_can_have():
    points = measure(SIZES[:3])
    assert [p.bytes for p in points] == list(SIZES[:3])
    assert all(1e8 < p.bytes_per_second < 1e14 for p in points)


def test_the_number_of_threads_is_put_back():
    before = torch.get_num_threads()
    measure(SIZES[:1], device="cpu")
    assert torch.get_num_threads() == before


def test_caches_grow_with_their_level():
    found = caches()
    assert list(found.values()) == sorted(found.values())
    assert all(name.startswith("L") for name in found)
