"""How many blocks an SM holds at once, and which block makes best use of it."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

from autograder.exercise import Case, Exercise, Property
from autograder.verdict import Finding, Table
from course.cuda import occupancy as rules
from course.cuda.occupancy import CARDS, WARP, Limits, up
from course.ranks.outcome import Run

_RESIDENT = "the blocks and warps that an SM holds, as NVIDIA's calculator gives them"
_BEST = "the smallest of the blocks with the most resident warps"

Question = tuple[int, int, int, Limits]  # registers, shared, block, limits
Pair = tuple[int, int]


def pair(registers: int, shared: int, block: int, limits: Limits) -> Pair:
    found = rules.occupancy(registers, shared, block, limits)
    return found.blocks, found.warps


# --- occupancy ----------------------------------------------------------------------------------


def call_each(answer: Callable[..., Any], questions: list[Question]) -> list[Any]:
    return [answer(*question) for question in questions]


def cases(generator: random.Random) -> list[Case]:
    a100, small, ada, h100 = CARDS.values()
    some = generator.randint
    questions = [
        (32, 0, 256, a100),  # everything fits
        (16, 0, 32, ada),  # as many blocks as an SM takes
        (24, 0, 512, a100),  # as many warps as an SM takes
        (33, 0, 128, h100),  # registers, rounded up to 256 a warp
        (40, 0, 96, a100),  # each quarter of the SM holds whole warps
        (16, 0, 100, a100),  # a block that is not whole warps
        (33, 0, 1000, small),
        (40, generator.choice((16384, 32768)), 128, ada),  # shared memory, and what is reserved
        (24, 10_160, 64, a100),  # shared memory in units of 128
        (64, 0, 1024, ada),  # 1,024 of 1,536 threads
        (128, 0, 1024, a100),  # too many registers for one block
        (255, 0, 256, h100),
        (32, 100 * 1024, 64, small),  # more shared memory than a block may have
        (16, 0, 1056, a100),  # more threads than a block may have
        (some(20, 250), 1000 * some(1, 40), 32 * some(1, 32), h100),
        (some(20, 250), 0, 32 * some(1, 32), ada),
    ]  # fmt: skip
    return [Case(((questions,),), questions, "kernels on four cards")]


def examine(case: Case, run: Run) -> Iterator[Finding]:
    questions: list[Question] = case.expected
    given = run.values[0]
    values = given if isinstance(given, list) and len(given) == len(questions) else []
    got = [_pair(v) for v in values] or [None] * len(questions)
    wanted = [pair(*q) for q in questions]
    wrong = [i for i, (g, w) in enumerate(zip(got, wanted)) if g != w]
    if not wrong:
        return
    rows = tuple(
        (q[3].name, str(q[0]), f"{q[1]:,}", f"{q[2]:,}", str(v)[:20], str(w))
        for q, v, w in zip(questions, values or got, wanted)
        if _pair(v) != w
    )
    code, why, advice = _why(questions, values, got, wrong)
    table = Table(("card", "registers", "shared", "block", "returned", "wanted"), rows)
    yield Finding(code, why, property=_RESIDENT, table=table, advice=advice)


def _pair(value: Any) -> Pair | None:
    if not isinstance(value, (tuple, list)) or len(value) != 2:
        return None
    if any(type(v) is not int for v in value):
        return None
    return value[0], value[1]


def _blocks(q: Question, **mistake: Any) -> Pair:
    """The calculation with something left out or done another way."""
    registers, shared, block, limits = q
    warps = block // WARP if mistake.get("whole_warps") else up(block, WARP) // WARP
    warps = max(1, warps)
    unit, reserved = mistake.get("unit", 128), mistake.get("reserved", 1024)
    of_warp = registers * WARP if mistake.get("no_unit") else up(registers * WARP, 256)
    by_warps = limits.warps // warps
    if mistake.get("by_threads"):
        by_warps = limits.threads // block
    if mistake.get("no_parts"):
        by_registers = limits.registers // (of_warp * warps)
    else:
        by_registers = limits.registers // 4 // of_warp * 4 // warps
        if of_warp * up(warps, 4) > limits.registers:
            by_registers = 0
    by_shared = limits.shared // max(1, up(shared, unit) + reserved)
    refused = block > 1024 or shared > limits.shared_block
    parts = {
        "threads": by_warps, "blocks": limits.blocks, "registers": by_registers,
        "shared": by_shared,
    }  # fmt: skip
    for name in mistake.get("without", ()):
        del parts[name]
    blocks = 0 if refused and not mistake.get("launches_all") else min(parts.values())
    return blocks, blocks * warps


_MISTAKES: dict[str, tuple[dict[str, Any], str, str]] = {
    "no_register_limit": (
        {"without": ("registers",)},
        "Registers set no limit here.",
        "A warp takes 32 × registers, rounded up to a multiple of 256; an SM has 65,536.",
    ),
    "no_shared_limit": (
        {"without": ("shared",)},
        "Shared memory sets no limit here.",
        "An SM's shared memory divided by what a block takes of it.",
    ),
    "no_block_limit": (
        {"without": ("blocks",)},
        "An SM also has a limit on blocks, whatever their size: limits.blocks.",
        "The smallest of all limits decides.",
    ),
    "no_thread_limit": (
        {"without": ("threads",)},
        "An SM also has a limit on warps: limits.warps.",
        "The smallest of all limits decides.",
    ),
    "no_register_unit": (
        {"no_unit": True},
        "Registers are counted to the last one; the hardware gives a warp multiples of 256.",
        "Round 32 × registers up to the next multiple of 256.",
    ),
    "no_parts": (
        {"no_parts": True},
        "An SM's registers are counted as one pool. They are four, one for each scheduler, and a "
        "warp takes its registers from one of them.",
        "How many whole warps fit in a quarter of the registers? Four times that is how many fit "
        "in the SM; divide by the warps of a block.",
    ),
    "nothing_reserved": (
        {"reserved": 0},
        "Each block takes 1,024 bytes of shared memory more than it asked for: the system's.",
        "Add 1,024 to what the block asks for.",
    ),
    "no_shared_unit": (
        {"unit": 1},
        "Shared memory is given in multiples of 128 bytes.",
        "Round up to 128 before adding the 1,024 that are reserved.",
    ),
    "warps_rounded_down": (
        {"whole_warps": True},
        "1,000 threads are 32 warps, not 31: the last warp is there, if not full.",
        "Round up: (block + 31) // 32.",
    ),
    "threads_for_warps": (
        {"by_threads": True},
        "Threads are counted where warps are given out: a block of 1,000 threads takes 32 warps.",
        "limits.warps // warps of a block.",
    ),
    "never_refused": (
        {"launches_all": True},
        "Some of these cannot be launched at all, and 0 blocks is the answer: more than 1,024 "
        "threads in a block.",
        "Return (0, 0) for what a launch would refuse.",
    ),
}  # fmt: skip


def _why(
    questions: list[Question], values: list[Any], got: list[Pair | None], wrong: list[int]
) -> tuple[str, str, str]:
    if all(v is None for v in values):
        return "returned_nothing", "The function returns None.", "return blocks, warps"
    i = wrong[0]
    if any(g is None for g in got):
        first = next(j for j, g in enumerate(got) if g is None)
        return (
            "wrong_type",
            f"The function returns {values[first]!r}, not two whole numbers (blocks, warps).",
            "`//` divides whole numbers; return blocks, warps.",
        )
    if all(g == pair(*q)[::-1] for g, q in zip(got, questions)):
        return "exchanged", "The two numbers are the wrong way round.", "return blocks, warps"
    for code, (mistake, why, advice) in _MISTAKES.items():
        if all(g == _blocks(q, **mistake) for g, q in zip(got, questions)):
            return code, why, advice
    if all(g and g[0] == pair(*q)[0] for g, q in zip(got, questions)):
        return (
            "warps",
            "The blocks are right, the warps are not.",
            "warps = blocks × warps of a block.",
        )
    registers, shared, block, limits = questions[i]
    by = rules.occupancy(registers, shared, block, limits).by
    parts = ", ".join(f"{name} {count}" for name, count in by.items())
    return (
        "wrong_value",
        f"For {registers} registers, {shared:,} bytes and a block of {block:,} on {limits.name} "
        f"the function returns {got[i]}.",
        f"What each limit alone would allow there: {parts}. The smallest decides.",
    )


OCCUPANCY = Exercise(
    name="occupancy",
    title="How full is an SM?",
    properties=(Property(_RESIDENT, 3),),
    cases=cases,
    examine=examine,
    hint="Four numbers, and the smallest decides: `limits.warps // warps`, `limits.blocks`, the "
    "registers' and the shared memory's. Registers: a warp takes `32 * registers`, rounded up to "
    "256; a quarter of the SM holds `limits.registers // 4 // that` warps, the SM four times as "
    "many.",
    difficulty=3,
    minutes=20,
    backend="gloo",
    call=call_each,
)


# --- best_block ---------------------------------------------------------------------------------

Kernel = tuple[int, int, Limits]  # registers, shared bytes a thread, limits


def call_best(answer: Callable[..., Any], kernels: list[Kernel]) -> list[Any]:
    return [answer(*kernel, pair) for kernel in kernels]


def best_cases(generator: random.Random) -> list[Case]:
    a100, small, ada, h100 = CARDS.values()
    kernels = [
        (32, 0, a100),
        (96, 0, a100),  # sums_80 of the lesson, as ptxas 13.0 compiles it
        (128, 0, ada),  # sums_120
        (64, 0, h100),  # sums_120_bounded
        (40, 0, ada),
        (255, 0, small),
        (32, 4, small),
        (24, 48, a100),
        (32, 200, h100),
        (generator.randint(70, 200), generator.choice((0, 8, 16)), ada),
    ]
    # The same again on cards whose blocks are fewer: small blocks are no use there.
    kernels.append((32, 0, replace(a100, blocks=4, name="4 blocks an SM")))
    kernels.append((32, 0, replace(a100, blocks=2, name="2 blocks an SM")))
    return [Case(((kernels,),), kernels, "kernels with figures from ptxas")]


def _pair_of(kernel: Kernel, block: int) -> Pair:
    registers, shared, limits = kernel
    return pair(registers, shared * block, block, limits)


def _warps(kernel: Kernel, block: int) -> int:
    return _pair_of(kernel, block)[1]


def _first_best(kernel: Kernel, sizes: list[int]) -> int:
    """The first size with the most warps."""
    return max(sizes, key=partial(_warps, kernel))


def examine_best(case: Case, run: Run) -> Iterator[Finding]:
    kernels: list[Kernel] = case.expected
    given = run.values[0]
    values = given if isinstance(given, list) and len(given) == len(kernels) else []
    wanted = [rules.best_block(*k) for k in kernels]
    got = [v if type(v) is int else None for v in values] or [None] * len(kernels)
    wrong = [i for i, (g, w) in enumerate(zip(got, wanted)) if g != w]
    if not wrong:
        return
    rows = []
    for kernel, value, want in zip(kernels, values or got, wanted):
        of_value = f"{_warps(kernel, value)}" if type(value) is int and 0 < value < 5000 else "–"
        rows.append(
            (kernel[2].name, str(kernel[0]), str(kernel[1]), str(value)[:12], of_value, str(want),
             str(_warps(kernel, want)))
        )  # fmt: skip
    columns = ("card", "registers", "shared a thread", "returned", "its warps", "wanted", "warps")
    code, why, advice = _why_best(kernels, values, got, wrong, wanted)
    table = Table(columns, tuple(rows))
    yield Finding(code, why, property=_BEST, table=table, advice=advice)


def _why_best(
    kernels: list[Kernel], values: list[Any], got: list[int | None], wrong: list[int],
    wanted: list[int],
) -> tuple[str, str, str]:  # fmt: skip
    if all(v is None for v in values):
        return "returned_nothing", "The function returns None.", "return block"
    i = wrong[0]
    kernel, block = kernels[i], got[i]
    if block is None:
        return (
            "wrong_type",
            f"The function returns {values[i]!r}, not a block size.",
            "One whole number: the threads of a block.",
        )
    if any(b is not None and (b <= 0 or b % WARP or b > 1024) for b in got):
        bad = next(b for b in got if b is not None and (b <= 0 or b % WARP or b > 1024))
        return "no_block", f"{bad} is no multiple of 32 up to 1,024.", "range(32, 1025, 32)"
    refused = [k for k, b in zip(kernels, got) if b and _warps(k, b) == 0]
    if refused:
        registers, _, limits = refused[0]
        bad = got[kernels.index(refused[0])] or 0
        return (
            "cannot_be_launched",
            f"On {limits.name} a block of {bad:,} threads with {registers} registers each cannot "
            f"be launched: that is {registers * bad:,} registers, of {limits.registers:,} that "
            "there are. CUDA calls it “too many resources requested for launch”.",
            "occupancy(…) gives (0, 0) for it.",
        )
    most = [max(_warps(k, b) for b in range(WARP, 1025, WARP)) for k in kernels]
    if all(g and _warps(k, g) == m for k, g, m in zip(kernels, got, most)):
        return (
            "not_the_smallest",
            f"As many warps as with {wanted[i]} threads, in fewer and larger blocks. A block keeps "
            "all its resources until its last thread has finished: of equals, take the smallest.",
            "Go through the sizes from small to large, and replace the best only by a better one.",
        )
    sizes = list(range(WARP, 1025, WARP))
    if len({*got}) == 1:
        return (
            "always_the_same",
            f"The answer is {got[0]} for every kernel and every card.",
            "Try all sizes, and compare their warps: the second number of occupancy(…). The first "
            "one is blocks, of which the smallest are always the most.",
        )
    if all(g == max(sizes, key=partial(_pair_of, k)) for k, g in zip(kernels, got)):
        return (
            "blocks_compared",
            "The pairs (blocks, warps) are compared, and Python compares a pair by its first "
            "number: the most blocks win, whatever they hold.",
            "Compare the second number alone, occupancy(…)[1].",
        )
    if all(g == _first_best(k, sizes[:-1]) for k, g in zip(kernels, got)):
        return (
            "largest_left_out",
            "Blocks of 1,024 threads are never tried.",
            "range(32, 1025, 32): range stops before its end.",
        )
    powers = [2**p for p in range(5, 11)]
    if all(g == _first_best(k, powers) for k, g in zip(kernels, got)):
        return (
            "powers_of_two",
            "Only powers of two are tried. 96 or 160 threads are blocks as good as any.",
            "range(32, 1025, 32)",
        )
    if all(g == rules.best_block(k[0], 0, k[2]) for k, g in zip(kernels, got)):
        return (
            "shared_forgotten",
            "Shared memory is left out: a larger block takes more of it.",
            "occupancy(registers, shared_per_thread * block, block, limits)",
        )
    return (
        "fewer_warps",
        f"A block of {block} threads has {_warps(kernel, block)} resident warps; {wanted[i]} would "
        f"have {most[i]}.",
        "Compare the warps, occupancy(…)[1], of every multiple of 32 up to 1,024.",
    )


BEST_BLOCK = Exercise(
    name="best_block",
    title="The block that fits",
    properties=(Property(_BEST, 2),),
    cases=best_cases,
    examine=examine_best,
    hint="`max(range(32, 1025, 32), key=…)` gives the first of several that are equally good, and "
    "the first is the smallest.",
    difficulty=2,
    minutes=10,
    backend="gloo",
    call=call_best,
)
