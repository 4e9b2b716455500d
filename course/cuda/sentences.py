"""The sentences that say what a fault is. :mod:`course.cuda.explain` says which belongs to what."""

from __future__ import annotations

from collections.abc import Callable

from course.cuda import errors
from course.cuda.outcome import Fault, Memory, Other, Triple

Sentence = Callable[[Fault], str]


# ------------------------------------------------------------------ pieces of sentences


def _triple(triple: Triple) -> str:
    """``3`` of (3, 0, 0), else ``(3, 1, 0)``: most programs have one dimension."""
    x, y, z = triple
    return f"{x}" if not y and not z else f"({x}, {y}, {z})"


def who(fault: Fault) -> str:
    """``Thread 5 of block 3 of `vecAdd` ``, or ``Host code``."""
    if fault.kernel is None:
        return "Host code"
    if fault.thread is None or fault.block is None:
        return f"The kernel `{fault.kernel}`"
    return f"Thread {_triple(fault.thread)} of block {_triple(fault.block)} of `{fault.kernel}`"


def does(fault: Fault) -> str:
    verbs = {"read": "reads", "write": "writes", "atomic": "atomically updates"}
    return verbs.get(fault.access, "accesses")


def _bytes(count: int) -> str:
    return f"{count:,} byte{'s' * (count != 1)}"


def in_line(line: int | None, part: str = "cell") -> str:
    """`` in line 12``; nothing for a line of the prelude or the harness, which nobody sees."""
    return f" in line {line}" if line and part == "cell" else ""


def _freed(memory: Memory | None) -> str:
    return in_line(memory.freed_line, memory.freed_part) if memory else ""


def described(memory: Memory | None) -> str:
    """``\\`d_c\\` (4,000 bytes, allocated in line 12)``"""
    if memory is None:
        return "memory"
    if memory.space == "shared":
        return f"the shared `{memory.name}` ({_bytes(memory.bytes)})"
    name = f"`{memory.name}`" if memory.name else "memory"
    made = in_line(memory.line, memory.part) if memory.space != "symbol" else ""
    where = f", allocated{made}" if made else ""
    return f"{name} ({_bytes(memory.bytes)}{where})"


def _capital(said: str) -> str:
    return said[0].upper() + said[1:]


def _element(fault: Fault) -> str:
    """``element 1000 of`` where that can be said, else ``byte 4001 of``."""
    memory = fault.memory
    if memory is None:
        return "an address in"
    if fault.index is None or memory.bytes % max(fault.size, 1):
        return f"byte {memory.offset:,} of"
    return f"element {fault.index:,} of"


def _offset(fault: Fault) -> int:
    return fault.memory.offset if fault.memory else 0


def _wrapped(index: int | None) -> str:
    if index is None or not 1 << 31 <= index < 1 << 32:
        return ""
    return (
        f" As an unsigned number that is {index - (1 << 32)}: threadIdx and its like are unsigned."
    )


def _last(fault: Fault) -> str:
    memory = fault.memory
    if memory is None or fault.index is None or memory.bytes % fault.size:
        return ""
    count = memory.bytes // fault.size
    return f" The last one is element {count - 1:,}." if count else ""


def _other_who(other: Other | None) -> str:
    if other is None:
        return "another thread"
    thread = f"thread {_triple(other.thread)}" if other.thread is not None else "a thread"
    return f"{thread} of block {other.block}" if other.block is not None else thread


def _other_line(other: Other | None) -> str:
    return in_line(other.line, other.part) if other is not None else ""


def _did(other: Other | None) -> str:
    verbs = {"read": "reads", "write": "writes", "atomic": "atomically updates"}
    return verbs.get(other.access if other else "", "accesses")


def number(fault: Fault, key: str) -> str:
    value = fault.details.get(key)
    return f"{value:,}" if isinstance(value, int) else str(value)


# ------------------------------------------------------------------ sentences


def out_of_bounds(fault: Fault) -> str:
    memory = fault.memory
    if memory is None:
        return f"{who(fault)} {does(fault)} outside of all memory."
    return (
        f"{who(fault)} {does(fault)} {_element(fault)} {described(memory)}, which has no such "
        f"element.{_last(fault)}{_wrapped(fault.index)}"
    )


def after_free(fault: Fault) -> str:
    memory = fault.memory
    return f"{who(fault)} {does(fault)} {described(memory)}, which was freed{_freed(memory)}."


def race(fault: Fault) -> str:
    other = fault.other
    return (
        f"{who(fault)} {does(fault)} {_element(fault)} {described(fault.memory)}, and "
        f"{_other_who(other)} {_did(other)} it{_other_line(other)}, with no `__syncthreads()` "
        "between the two: which comes first is chance."
    )


def race_between_blocks(fault: Fault) -> str:
    other = fault.other
    return (
        f"{who(fault)} {does(fault)} {_element(fault)} {described(fault.memory)}, and "
        f"{_other_who(other)} {_did(other)} it{_other_line(other)}: blocks run in any order, and "
        "nothing orders the two."
    )


def race_between_streams(fault: Fault) -> str:
    what = f"The kernel `{fault.kernel}`" if fault.kernel else "A copy"
    return (
        f"{what} {does(fault)} {described(fault.memory)}, and work of another stream "
        f"{_did(fault.other)} it{_other_line(fault.other)}: nothing orders the two."
    )


def barrier_divergent(fault: Fault) -> str:
    return (
        f"{who(fault)} waits at the barrier in line {fault.line}, and {_other_who(fault.other)} "
        f"waits at another one{_other_line(fault.other)}."
    )


def barrier_ended(fault: Fault) -> str:
    return (
        f"{who(fault)} waits at the barrier in line {fault.line}, which "
        f"{_other_who(fault.other)} never reaches: it has returned. Of the block's threads, "
        f"{number(fault, 'waiting')} wait and {number(fault, 'ended')} have ended."
    )


def warp_divergent(fault: Fault) -> str:
    does = {"barrier": "waits at a barrier", "warp": "waits in another warp operation"}
    other = does.get(fault.other.access if fault.other else "", "is elsewhere")
    return (
        f"{who(fault)} waits in line {fault.line} for {_other_who(fault.other)} of its warp, "
        f"which {other}{_other_line(fault.other)}: they wait for ever."
    )


def kernel_wants_host(fault: Fault) -> str:
    return (
        f"{who(fault)} {does(fault)} host memory (address {fault.address}): on a GPU that "
        "address is another memory, or none."
    )


def host_wants_device(fault: Fault) -> str:
    return (
        f"Host code {does(fault)} device memory: {_element(fault)} {described(fault.memory)}. "
        "On a machine with a GPU that is a segmentation fault."
    )


def never_ends(fault: Fault) -> str:
    seconds = fault.details.get("limit_ms", 0) / 1000
    name = who(fault)
    where = f" (it was in line {fault.line} then)" if fault.line else ""
    return f"{name} did not come to an end within {seconds:g} seconds{where}."


def refused(what: str) -> Sentence:
    def sentence(fault: Fault) -> str:
        code = fault.details.get("error", 0)
        said = f"{errors.name(code)}, “{errors.text(code)}”" if code else "an error"
        numbers = {"asked": number(fault, "asked"), "limit": number(fault, "limit")}
        kernel = fault.details.get("name")
        launch = f"The launch of `{kernel}`" if kernel and fault.kernel is None else "The launch"
        return f"{launch} was refused: {what.format(**numbers)} ({said})."

    return sentence


def wrong_direction(fault: Fault) -> str:
    kinds = ("HostToHost", "HostToDevice", "DeviceToHost", "DeviceToDevice")
    to, source = (
        "device" if fault.details.get(k) else "host" for k in ("to_device", "from_device")
    )
    code = fault.details.get("direction", -1)
    said = kinds[code] if code in range(4) else "?"
    return (
        f"The copy says `cudaMemcpy{said}`, and its destination is {to} memory, its source "
        f"{source} memory."
    )


def copy_out_of_bounds(fault: Fault) -> str:
    return (
        f"The {fault.access or 'range'} of the copy of {_bytes(fault.size)} does not lie within "
        f"{described(fault.memory)}: it begins at byte {_offset(fault):,}."
    )


def copy_after_free(fault: Fault) -> str:
    what = f"The {fault.access or 'range'} of the copy, {described(fault.memory)}"
    return f"{what}, was freed{_freed(fault.memory)}."


def double_free(fault: Fault) -> str:
    freed = _freed(fault.memory)
    first = f"; the first was{freed}" if freed else ""
    return f"{_capital(described(fault.memory))} is freed a second time{first}."


def uninitialised_copy(fault: Fault) -> str:
    return (
        f"The copy takes bytes of {described(fault.memory)} that nobody has written, the first of "
        f"them byte {_offset(fault):,}."
    )


def index_out_of_range(fault: Fault) -> str:
    return (
        f"{who(fault)} uses the index {number(fault, 'index')} on an array of type "
        f"`{str(fault.details.get('type', '')).strip(chr(39))}`."
    )


def overflow(fault: Fault) -> str:
    sides = " ".join(number(fault, key) for key in ("left", "operator", "right"))
    kind = str(fault.details.get("type", "int")).strip("'")
    return f"{who(fault)} computes {sides}, which does not fit into `{kind}`."


def not_ready(fault: Fault) -> str:
    return (
        f"Host code {does(fault)} memory that an unfinished operation"
        f"{_other_line(fault.other)} is still to fill or to read."
    )


def warp_lane_missing(fault: Fault) -> str:
    return (
        f"{who(fault)} (lane {number(fault, 'lane')}) asks for the value of lane "
        f"{number(fault, 'source')}, which takes no part in the shuffle."
    )


def warp_mask(fault: Fault) -> str:
    mask = fault.details.get("mask", 0)
    return (
        f"{who(fault)} is lane {number(fault, 'lane')} and calls with the mask {mask:#010x}, "
        "in which its own bit is not set."
    )


def failed_assertion(fault: Fault) -> str:
    return f"{who(fault)}: the assertion `{fault.details.get('expression', '')}` failed."


def leak(fault: Fault) -> str:
    return f"{_capital(described(fault.memory))} was never freed."


def plain(rest: str) -> Sentence:
    """``{}`` is the access: ``reads element 5 of …``."""

    def sentence(fault: Fault) -> str:
        return (
            who(fault)
            + " "
            + rest.format(f"{does(fault)} {_element(fault)} {described(fault.memory)}")
        )

    return sentence


def address(why: str) -> Sentence:
    def sentence(fault: Fault) -> str:
        return f"{who(fault)} {does(fault)} address {fault.address}, {why}."

    return sentence
