"""Sizes of memory in text: read as people write them, written as torch's messages do."""

from __future__ import annotations

import re

_UNITS = {"": 1, "B": 1}
for _power, _letter in enumerate("KMGT", start=1):
    _UNITS[f"{_letter}iB"] = 1024**_power
    _UNITS[f"{_letter}B"] = 1000**_power


def parse(size: int | str) -> int:
    """Bytes of ``"16 GiB"`` (2³⁰ each), ``"16 GB"`` (10⁹ each), ``"512"`` or ``512``.

    Raises:
        ValueError: the text is no size, or the size is not positive.
    """
    match = re.fullmatch(r"\s*([0-9.]+)\s*([KMGT]?i?B?)\s*", str(size))
    try:
        assert match is not None
        found = int(float(match[1]) * _UNITS[match[2]])
    except (AssertionError, KeyError, ValueError):
        raise ValueError(f"{size!r} is no size: write '16 GiB', '500 MB' or bytes.") from None
    if found <= 0:
        raise ValueError(f"A size must be positive, and {size!r} is not.")
    return found


def text(size: int) -> str:
    """``2.00 GiB``: as torch's CUDA allocator writes sizes in its messages."""
    if size <= 1024:
        return f"{size} bytes"
    if size <= 1024**2:
        return f"{size / 1024:.2f} KiB"
    if size <= 1024**3:
        return f"{size / 1024**2:.2f} MiB"
    return f"{size / 1024**3:.2f} GiB"
