"""CUDA C++ built and run: with nvcc on a GPU, or with g++ and the course's own runtime."""

from course.cuda.builder import CompileError, Program, build, check_with_nvcc, has_main, warm_up
from course.cuda.card import A100, H100, L4, Card
from course.cuda.outcome import CudaRun, Diagnostic, Fault, Launch
from course.cuda.runner import run, run_seeds, touched
from course.cuda.toolchain import ToolMissing

__all__ = [
    "A100",
    "H100",
    "L4",
    "Card",
    "CompileError",
    "CudaRun",
    "Diagnostic",
    "Fault",
    "Launch",
    "Program",
    "ToolMissing",
    "build",
    "check_with_nvcc",
    "has_main",
    "run",
    "run_seeds",
    "touched",
    "warm_up",
]
