"""A matrix product from tiles in shared memory: a number is fetched once a tile, not once a use."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from autograder.cuda_answer import Ran
from autograder.exercise import CUDA, Case, Exercise, Property
from autograder.exercises.cuda.shared import (
    SENTINEL,
    added_to_old,
    missing_result,
    quarters,
    text,
    touched,
    trouble,
    whole_numbers,
)
from autograder.verdict import Finding, Table

_PRODUCT = "c is the product of a and b, whatever their sizes"
_ORDER = "right in whatever order the threads run"
_READS = "global memory is read once a tile, not once a use"
TILE = 8

# (m, n, k, seed of the schedule): c is m × n, and k is what is summed over
_SHAPES = (
    (16, 16, 16, 0),
    (16, 16, 16, 1),
    (17, 9, 21, 2),
    (1, 1, 1, 3),
    (5, 30, 8, 4),
    (24, 8, 3, 5),
)

HARNESS = r"""
int main(int argc, char** argv) {
    std::vector<float> a = check::input<float>(argv[1]), b = check::input<float>(argv[2]);
    int m = atoi(argv[3]), n = atoi(argv[4]), k = atoi(argv[5]);
    std::vector<float> c(m * n, SENTINEL);
    float *d_a, *d_b, *d_c;
    cudaMalloc(&d_a, a.size() * sizeof(float));
    cudaMalloc(&d_b, b.size() * sizeof(float));
    cudaMalloc(&d_c, c.size() * sizeof(float));
    cudaMemcpy(d_a, a.data(), a.size() * sizeof(float), cudaMemcpyHostToDevice);
    cudaMemcpy(d_b, b.data(), b.size() * sizeof(float), cudaMemcpyHostToDevice);
    cudaMemcpy(d_c, c.data(), c.size() * sizeof(float), cudaMemcpyHostToDevice);
    dim3 block(TILE, TILE), grid((n + TILE - 1) / TILE, (m + TILE - 1) / TILE);
    matmul_tiled<<<grid, block>>>(d_a, d_b, d_c, m, n, k);
    if (cudaDeviceSynchronize() != cudaSuccess) return 3;
    cudaMemcpy(c.data(), d_c, c.size() * sizeof(float), cudaMemcpyDeviceToHost);
    check::result(c.data(), c.size());
    cudaFree(d_a);
    cudaFree(d_b);
    cudaFree(d_c);
    return 0;
}
"""


@dataclass(frozen=True)
class _Expected:
    a: np.ndarray
    b: np.ndarray

    @property
    def reads(self) -> int:
        """Of a and b together: each of them as often as there are tiles across the other way."""
        (m, k), n = self.a.shape, self.b.shape[1]
        return m * k * -(-n // TILE) + k * n * -(-m // TILE)


def cases(generator: random.Random) -> list[Case]:
    found = []
    for m, n, k, seed in _SHAPES:
        a = quarters(generator, m * k, below=10).reshape(m, k)
        b = quarters(generator, k * n, below=10).reshape(k, n)
        order = f", threads in the order of --seed {seed}" if seed else ""
        label = f"a of {m} × {k}, b of {k} × {n}{order}"
        options = {"seed": seed, "touches": True}
        found.append(Case(((a, b, m, n, k),), _Expected(a, b), label, options))
    return found


def examine(case: Case, ran: Ran) -> Iterator[Finding]:
    expected: _Expected = case.expected
    races = ran.run.fault("race", "barrier_divergent", "barrier_ended")
    found = [_with_advice(f, ran) for f in trouble(ran, _ORDER if races else _PRODUCT)]
    got = ran.array(0)
    if found or got is None:
        yield from found or [missing_result(_PRODUCT)]
        return
    yield from _wrong(got, expected) or _fetches(ran, expected)


def _with_advice(finding: Finding, ran: Ran) -> Finding:
    """Two blocks that write one element of c: one of them has no business there."""
    fault = ran.run.fault(finding.code)
    of_c = fault is not None and fault.memory is not None and fault.memory.name == "d_c"
    if finding.code != "race_between_blocks" or not of_c:
        return finding
    advice = (
        "Only a thread with row < m and column < n may write, to row * n + column: past the end of "
        "a row stands the next one."
    )
    return replace(finding, advice=advice)


def _wrong(flat: np.ndarray, expected: _Expected) -> list[Finding]:
    wanted = expected.a @ expected.b
    got = flat.reshape(wanted.shape) if flat.size == wanted.size else flat
    if got.shape == wanted.shape and np.array_equal(got, wanted):
        return []
    known = added_to_old(got, wanted, "c", _PRODUCT) or whole_numbers(got, _PRODUCT)
    if known:
        return known
    differing = np.argwhere(got != wanted)[:6]
    rows = tuple((f"[{r}, {c}]", text(got[r, c]), f"{wanted[r, c]:g}") for r, c in differing)
    code, why, advice = _why(got, wanted, expected)
    table = Table(("c[row, column]", "got", "wanted"), rows)
    return [Finding(code, why, property=_PRODUCT, table=table, advice=advice)]


def _why(got: np.ndarray, wanted: np.ndarray, expected: _Expected) -> tuple[str, str, str]:
    k = expected.a.shape[1]
    whole = k // TILE * TILE
    if (got == SENTINEL).all():
        return "nothing_written", "No element of c was written.", ""
    if (got == SENTINEL).any():
        return (
            "holes",
            f"{int((got == SENTINEL).sum()):,} elements of c were never written.",
            "Which rows and columns are they? Every thread whose row < m and column < n writes.",
        )
    if k > TILE and k % TILE and np.array_equal(got, expected.a[:, :whole] @ expected.b[:whole]):
        return (
            "last_tile_missing",
            f"The sum stops after {whole} of {k} terms: the last tile, which is not full, is left "
            "out.",
            "(k + TILE - 1) / TILE tiles; what lies past the edge counts as 0.",
        )
    if got.shape[0] == got.shape[1] and np.array_equal(got, wanted.T):
        return (
            "transposed",
            "c is transposed.",
            "Neighbouring threads (x) are neighbouring columns.",
        )
    square = expected.a.shape == expected.b.shape
    if square and np.array_equal(got, expected.b @ expected.a):
        return "swapped", "This is b times a.", "c[row, column] sums a[row, i] * b[i, column]."
    if square and np.array_equal(got, expected.a @ expected.b.T):
        return (
            "b_transposed",
            "This is a times the transpose of b.",
            "The tile of b: its row is the index that is summed over.",
        )
    for which, factors in _with_turned_tiles(expected).items():
        if np.array_equal(got, factors):
            return (
                "tile_turned",
                f"Each tile of {which} is used with rows and columns exchanged.",
                "tile_a[y][i] * tile_b[i][x]: in the sum over i, thread (x, y) stays in row y of "
                "a's tile and in column x of b's. And it stores what it fetches at [y][x].",
            )
    if np.array_equal(got, expected.a[:, :TILE] @ expected.b[:TILE]):
        return "first_tile_only", "Only the first tile is summed.", "Sum over all tiles of k."
    return (
        "wrong_values",
        "c is not the product.",
        "Write down, for thread (x, y) of block (bx, by) and tile t, which element of a it "
        "fetches, and which of b.",
    )


def _with_turned_tiles(expected: _Expected) -> dict[str, np.ndarray]:
    """The product if the tiles of a, of b or of both were transposed, each in its place."""
    (m, k), n = expected.a.shape, expected.b.shape[1]
    rows, inner, columns = (-(-size // TILE) * TILE for size in (m, k, n))
    a, b = np.zeros((rows, inner), np.float32), np.zeros((inner, columns), np.float32)
    a[:m, :k], b[:k, :n] = expected.a, expected.b
    turned_a, turned_b = _turned(a), _turned(b)
    found = {"a": turned_a @ b, "b": a @ turned_b, "a and of b": turned_a @ turned_b}
    return {which: product[:m, :n] for which, product in found.items()}


def _turned(matrix: np.ndarray) -> np.ndarray:
    rows, columns = matrix.shape
    tiles = matrix.reshape(rows // TILE, TILE, columns // TILE, TILE)
    return tiles.transpose(0, 3, 2, 1).reshape(rows, columns)


def _fetches(ran: Ran, expected: _Expected) -> list[Finding]:
    if ran.run.touches is None or not len(ran.run.touches):
        return []
    rows = np.concatenate([touched(ran, name) for name in ("d_a", "d_b")])
    reads = int((rows["write"] == 0).sum())
    if reads <= expected.reads:
        return []
    (m, k), n = expected.a.shape, expected.b.shape[1]
    return [
        Finding(
            "reads_global_again",
            f"The product is right, and a and b are read {reads:,} times from global memory; with "
            f"tiles of {TILE} × {TILE}, {expected.reads:,} reads are enough.",
            property=_READS,
            table=Table(
                ("", "reads"),
                (
                    ("this kernel", f"{reads:,}"),
                    ("each use fetched", f"{2 * m * n * k:,}"),
                    ("tiles", f"{expected.reads:,}"),
                ),
            ),
            advice="All threads of a block fetch one tile of a and one of b into shared memory, "
            "one element each, and then work from there.",
        )
    ]


MATMUL_TILED = Exercise(
    name="matmul_tiled",
    title="A matrix product from tiles",
    properties=(Property(_ORDER, 2), Property(_PRODUCT, 2), Property(_READS, 2)),
    cases=cases,
    examine=examine,
    hint="For each tile t: thread (x, y) fetches `a[row][t * TILE + x]` and "
    "`b[t * TILE + y][column]`, or 0 past the edge; barrier; a loop over i adds "
    "`tile_a[y][i] * tile_b[i][x]`; barrier again, so that nobody overwrites a tile that "
    "another still reads. Only the last line, which writes c, stands under a guard.",
    difficulty=5,
    minutes=30,
    seconds=2.0,
    language=CUDA,
    harness=HARNESS.replace("SENTINEL", f"{SENTINEL:.1f}f").replace("TILE", str(TILE)),
)
