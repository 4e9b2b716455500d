"""Figures from ptxas, those that were recorded, and what is said where there are neither."""

from __future__ import annotations

import json

import pytest

from course.cuda import registers, toolchain
from course.cuda.registers import (
    ARCHITECTURES,
    MANY_SUMS,
    NoFigures,
    figures,
    kernel,
    parsed,
    table,
)

needs_nvcc = pytest.mark.skipif(toolchain.nvcc() is None, reason="needs nvcc")

WORDS = """\
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function '_Z9block_sumPKfPfi' for 'sm_90'
ptxas info    : Function properties for _Z9block_sumPKfPfi
    24 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads
ptxas info    : Used 18 registers, used 1 barriers, 1024 bytes smem, 372 bytes cmem[0]
ptxas info    : Compiling entry function 'plain' for 'sm_90'
ptxas info    : Function properties for plain
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 9 registers, used 0 barriers, 352 bytes cmem[0]
"""


def test_every_number_of_ptxas_is_read():
    first, second = parsed(WORDS)
    assert (first.name, first.arch, first.registers, first.shared) == (
        "block_sum",
        "sm_90",
        18,
        1024,
    )
    assert (first.stack, first.spill_stores, first.spill_loads) == (24, 8, 12)
    assert (first.constant, second.name, second.registers) == (372, "plain", 9)


@pytest.mark.parametrize(
    ("symbol", "name"),
    [
        ("_Z7vec_addPKfS0_Pfi", "vec_add"),
        ("_ZN5inner4deepEPf", "deep"),
        ("_Z4sumsILi16EEvPKf", "sums"),
        ("plain", "plain"),
    ],
)
def test_names_are_read_out_of_symbols(symbol, name):
    assert registers._base_name(symbol) == name


@pytest.fixture
def no_nvcc(monkeypatch):
    monkeypatch.setattr(toolchain, "nvcc", lambda: None)


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_without_nvcc_the_lessons_kernels_have_their_recorded_figures(no_nvcc, arch):
    wide = kernel(MANY_SUMS, "sums_120", arch)
    bounded = kernel(MANY_SUMS, "sums_120_bounded", arch)
    assert (wide.registers, wide.stack) == (128, 0)
    assert bounded.registers == 64
    assert bounded.spill_stores > 0


def test_without_nvcc_another_text_has_none_and_is_told_what_to_install(no_nvcc):
    with pytest.raises(NoFigures, match="pip install nvidia-cuda-nvcc"):
        figures("__global__ void k() {}")
    assert "pip install" in table("__global__ void k() {}")


def test_the_record_says_which_nvcc_it_is_from():
    assert json.loads(registers.RECORDED.read_text())["nvcc"].startswith("Build cuda_")


@needs_nvcc
def test_the_recorded_figures_are_those_of_nvcc_if_it_is_the_same(tmp_path, monkeypatch):
    recorded = json.loads(registers.RECORDED.read_text())
    monkeypatch.setattr(registers, "RECORDED", tmp_path / "recorded.json")
    registers.record([MANY_SUMS])
    anew = json.loads((tmp_path / "recorded.json").read_text())
    if anew["nvcc"] != recorded["nvcc"]:
        pytest.skip(f"recorded with {recorded['nvcc']}, and here is {anew['nvcc']}")
    assert anew == recorded


@needs_nvcc
def test_what_nvcc_refuses_is_a_value_error():
    with pytest.raises(ValueError, match="error"):
        figures("__global__ void k() { nonsense }")


@needs_nvcc
def test_a_cell_may_begin_with_its_magic():
    (found,) = figures("%%cuda\n__global__ void k(float* x) { x[threadIdx.x] = 1; }")
    assert found.name == "k"
