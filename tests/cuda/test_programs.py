"""Textbook programs: right on the CPU under several schedules, and good CUDA for nvcc, too."""

from __future__ import annotations

from pathlib import Path

import pytest

from course import cuda
from course.cuda import toolchain

PROGRAMS = sorted((Path(__file__).parent / "programs").glob("*.cu"))
each_program = pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)


@each_program
@pytest.mark.parametrize("seed", [0, 1, 20])
def test_runs_on_the_cpu_without_a_fault(path: Path, seed: int) -> None:
    run = cuda.run(path.read_text(), seed=seed, backend="cpu")
    assert run.ok and run.stdout == "ok\n", run
    assert run.faults == () and run.leaks == (), run
    assert run.launches and all(launch.ran for launch in run.launches)


@each_program
def test_compiles_with_nvcc(path: Path) -> None:
    if toolchain.nvcc() is None:
        pytest.skip("no nvcc here")
    assert cuda.check_with_nvcc(path.read_text()) == ()


def test_a_million_threads_take_less_than_a_second() -> None:
    program = cuda.build((Path(__file__).parent / "programs" / "vec_add.cu").read_text())
    run = cuda.run(program, args=["1000000"], backend="cpu")
    assert run.ok and run.launches[0].threads >= 1_000_000
    assert run.launches[0].seconds < 3  # 0.25 s on a quiet machine; others may use this one


def test_the_programs_reject_a_wrong_kernel() -> None:
    """Each program checks itself; here that its check can fail."""
    for path, right, wrong in [
        ("vec_add", "a[i] + b[i];\n}", "a[i] - b[i];\n}"),
        ("reduction", "mine += in[i]", "mine += 2 * in[i]"),
        ("scan", "lane >= distance", "lane > distance"),
        ("histogram", "1u);", "2u);"),
        ("transpose", "[threadIdx.y + j];", "[threadIdx.y + j] + 1;"),
        ("matmul_tiled", "sum += tile_a", "sum -= tile_a"),
        ("stencil", "weights[j + RADIUS] * near", "near"),
        ("streams", "*= by", "+= by"),
        ("language", "9.81f * mass", "9.8f * mass"),
        ("vote", "in[i] % 2 == 0;\n", "in[i] % 3 == 0;\n"),
    ]:
        text = (Path(__file__).parent / "programs" / f"{path}.cu").read_text()
        assert text.count(right) == 1, path
        run = cuda.run(text.replace(right, wrong), backend="cpu")
        assert run.exit_code == 1 and "ok" not in run.stdout, (path, run)
