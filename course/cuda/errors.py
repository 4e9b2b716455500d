"""CUDA's error codes with their names and texts, read from the runtime's own table."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

_TABLE = Path(__file__).parent / "cpu" / "include" / "errors.h"


@cache
def table() -> dict[int, tuple[str, str]]:
    """``{2: ("cudaErrorMemoryAllocation", "out of memory"), ...}``"""
    entries = re.findall(r'E\((\d+), (\w+),[\s\\]*"([^"]*)"\)', _TABLE.read_text())
    return {int(code): (name, text) for code, name, text in entries}


def name(code: int) -> str:
    return table().get(code, ("unrecognized error code", ""))[0]


def text(code: int) -> str:
    return table().get(code, ("", "unrecognized error code"))[1]
