"""What each fault means, in a sentence, and what to try.

``EXPLAINED`` lists all kinds that a run can report.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from course.cuda import sentences as say
from course.cuda.outcome import Fault
from course.cuda.sentences import Sentence


@dataclass(frozen=True)
class Explanation:
    severity: str
    sentence: Sentence
    advice: str


def explain(fault: Fault, text: str) -> Fault:
    """The fault with its severity, message and advice; ``text`` is its line of the source."""
    known = EXPLAINED.get(fault.kind)
    if known is None:
        return dataclasses.replace(fault, message=f"{say.who(fault)}{fault.kind}.", text=text)
    return dataclasses.replace(
        fault,
        severity=known.severity,
        message=known.sentence(fault),
        advice=_advice(fault, known),
        text=text,
    )


def _advice(fault: Fault, known: Explanation) -> str:
    """What to try: for some kinds it depends on where the memory is, or on who the other is."""
    shared = fault.memory is not None and fault.memory.space == "shared"
    if fault.kind == "uninitialised_read" and shared:
        return _EVERYBODY
    return _UPDATED if _updates(fault) else known.advice


def _updates(fault: Fault) -> bool:
    """Whether the two sides of a race are one line, as of ``count[i]++``."""
    same = fault.other is not None and (fault.other.line, fault.other.part) == (
        fault.line,
        fault.part,
    )
    return same and fault.kind == "race"


_GUARD = (
    "Let a thread get there only if its element exists: `if (i < n)`, for an array of n. If there "
    "is such a guard, work out by hand the index that it lets through."
)
_EVERYBODY = (
    "Let every thread store something there before anybody reads, also one that has no element of "
    "its own: 0, for a sum."
)
_ORDER = (
    "Put `__syncthreads()` between the write and the read, reached by all threads of the block."
)
_UPDATED = (
    "If one thread is to read what another wrote, put `__syncthreads()` between. If each is to "
    "have an element of its own, look at the index. If several are to update one, let an atomic "
    "operation do it (`atomicAdd`)."
)
_ALL = (
    "Let all threads of the block reach the same barrier: put the `if` around the work, not "
    "around the barrier."
)
_STREAMS = "Order them: the same stream, an event with `cudaStreamWaitEvent`, or a synchronisation."

EXPLAINED: dict[str, Explanation] = {
    # kernels: memory
    "out_of_bounds": Explanation("error", say.out_of_bounds, _GUARD),
    "use_after_free": Explanation("error", say.after_free, "Free after the last use."),
    "misaligned": Explanation(
        "error",
        say.plain("{}: the address is no multiple of the size."),
        "Addresses of wide types must be multiples of their size: look at the pointer's cast.",
    ),
    "null_pointer": Explanation(
        "error",
        say.address("which is a null pointer or close to one"),
        "Look whether the allocation succeeded, and whether the right pointer was passed.",
    ),
    "wild_pointer": Explanation(
        "error",
        say.address("where there is no memory"),
        "Look where the pointer comes from: an index far too large, or a pointer never set.",
    ),
    "host_memory": Explanation(
        "error",
        say.kernel_wants_host,
        "Pass the pointer that `cudaMalloc` gave, and copy the data there first.",
    ),
    "write_to_constant": Explanation(
        "error", say.plain("{}, which is constant for kernels."), "`cudaMemcpyToSymbol` fills it."
    ),
    "uninitialised_read": Explanation(
        "error",
        say.plain("{}, which nobody has written before."),
        "Write it first: `cudaMemset`, a copy, or a store by every thread that should.",
    ),
    "index_out_of_range": Explanation(
        "error", say.index_out_of_range, "Compare the index with the size."
    ),
    "integer_overflow": Explanation(
        "warning",
        say.overflow,
        "Make one factor `size_t` before multiplying: `(size_t)row * columns`.",
    ),
    "division_by_zero": Explanation("error", say.plain("divides by zero."), "Look at the divisor."),
    "stack_overflow": Explanation(
        "error",
        say.plain("has used up its stack."),
        "Large local arrays belong into shared or global memory; recursion needs an end.",
    ),
    # kernels: order
    "race": Explanation("error", say.race, _ORDER),
    "race_between_blocks": Explanation(
        "error",
        say.race_between_blocks,
        "Use an atomic operation, or a second kernel for what comes after.",
    ),
    "race_between_streams": Explanation("error", say.race_between_streams, _STREAMS),
    "barrier_divergent": Explanation("error", say.barrier_divergent, _ALL),
    "barrier_ended": Explanation("error", say.barrier_ended, _ALL),
    "warp_divergent": Explanation(
        "error", say.warp_divergent, "All lanes that the mask names must make the same call."
    ),
    "warp_mask": Explanation(
        "error", say.warp_mask, "A lane that calls must be in the mask that it passes."
    ),
    "warp_lane_missing": Explanation(
        "error", say.warp_lane_missing, "A lane that is read from must take part in the shuffle."
    ),
    # kernels: ends
    "assert": Explanation("error", say.failed_assertion, ""),
    "trap": Explanation("error", say.plain("came to `__trap()`."), ""),
    "never_ends": Explanation(
        "error",
        say.never_ends,
        "Look at the loop's condition: what should end it, and who changes that?",
    ),
    "launch_in_kernel": Explanation(
        "error", say.plain("launches a kernel, which works in host code only here."), ""
    ),
    "never_synchronised": Explanation(
        "warning",
        lambda fault: (
            f"The kernel `{fault.kernel or fault.details.get('name', '')}` never ran: the "
            "program ended without waiting for it."
        ),
        "Call `cudaDeviceSynchronize()` (or copy the result) before the program ends.",
    ),
    # launches
    "empty_grid": Explanation(
        "error",
        say.refused("the grid has no blocks"),
        "Round the number of blocks up, `(n + block - 1) / block`; and where n is 0, launch "
        "nothing.",
    ),
    "empty_block": Explanation(
        "error", say.refused("the block has no threads"), "Look at the block size."
    ),
    "block_too_large": Explanation(
        "error",
        say.refused("{asked} threads in a block, where at most {limit} may be"),
        "Use a smaller block. In `<<<grid, block>>>` the number of blocks comes first.",
    ),
    "block_too_deep": Explanation(
        "error",
        say.refused("a block {asked} deep in z, where at most {limit} may be"),
        "Use x and y instead.",
    ),
    "grid_too_large": Explanation(
        "error", say.refused("{asked} blocks in one direction, where at most {limit} may be"), ""
    ),
    "too_much_shared": Explanation(
        "error",
        say.refused("{asked} bytes of shared memory for a block, where at most {limit} may be"),
        "Use a smaller tile; more than 48 KiB takes dynamic memory and `cudaFuncSetAttribute`.",
    ),
    "launch_bounds": Explanation(
        "error",
        say.refused(
            "{asked} threads in a block, where the kernel's `__launch_bounds__` promises {limit}"
        ),
        "Launch no more threads than were promised.",
    ),
    "too_many_registers": Explanation(
        "error",
        say.refused("{asked} registers a thread, where a block so large may have {limit}"),
        "Use a smaller block, or `__launch_bounds__` on the kernel.",
    ),
    # host
    "host_touches_device": Explanation(
        "error", say.host_wants_device, "Copy it to the host with `cudaMemcpy` first."
    ),
    "host_crash": Explanation(
        "error",
        say.address("where it has no memory (segmentation fault)"),
        "Look at the pointer's origin.",
    ),
    "host_division_by_zero": Explanation(
        "error", say.plain("divides by zero."), "Look at the divisor."
    ),
    "host_assert": Explanation("error", say.failed_assertion, ""),
    "out_of_memory": Explanation(
        "error",
        lambda fault: (
            f"The allocation of {say.number(fault, 'asked')} bytes failed: "
            f"{say.number(fault, 'limit')} bytes are left on the card."
        ),
        "Free what is no longer used, or use less.",
    ),
    "bad_free": Explanation(
        "error",
        lambda fault: (
            f"What is freed (address {fault.address}) is not what an allocation of that kind gave."
        ),
        "`cudaFree` for `cudaMalloc`, `cudaFreeHost` for pinned memory, `free` for `malloc`, and "
        "the pointer as it was given.",
    ),
    "double_free": Explanation(
        "error", say.double_free, "Free once; set the pointer to nullptr after that."
    ),
    "wrong_direction": Explanation(
        "error", say.wrong_direction, "The order is: to, from, bytes, direction."
    ),
    "copy_out_of_bounds": Explanation(
        "error",
        say.copy_out_of_bounds,
        "Sizes are bytes: `n * sizeof(float)`, for allocation and copy alike.",
    ),
    "copy_after_free": Explanation("error", say.copy_after_free, "Free after the last use."),
    "uninitialised_copy": Explanation(
        "warning",
        say.uninitialised_copy,
        "Was every element written? Look at the grid's size and the guard.",
    ),
    "host_pointer": Explanation(
        "error",
        lambda fault: f"`{fault.details.get('call', '')}` was given a host pointer.",
        "It works on device memory.",
    ),
    "not_configured": Explanation(
        "error", say.plain("calls a kernel without `<<<grid, block>>>`."), "Launch it."
    ),
    "managed_in_use": Explanation(
        "error",
        lambda fault: (
            f"Host code {say.does(fault)} managed memory while a launched kernel may still use it."
        ),
        "Call `cudaDeviceSynchronize()` first.",
    ),
    "read_before_ready": Explanation(
        "error", say.not_ready, "Wait first: `cudaStreamSynchronize`, or an event."
    ),
    "changed_before_copied": Explanation(
        "error", say.not_ready, "Wait until the copy has run before changing what it copies."
    ),
    "leak": Explanation(
        "warning", say.leak, "Free what was allocated, on every way out of the program."
    ),
    "starts_process": Explanation(
        "error",
        lambda fault: (
            f"The program calls `{fault.details.get('call', 'fork')}`: here it may start no other "
            "process."
        ),
        "",
    ),
    "report_broken": Explanation(
        "error",
        lambda fault: "The program wrote into the report that the course keeps of it.",
        "Leave file descriptors alone that the program has not opened.",
    ),
    "reads_stdin": Explanation(
        "error",
        lambda fault: (
            "The program reads its standard input, and there is nobody to type: it is empty here."
        ),
        "Put the values into the program, or take them from its arguments.",
    ),
}
