"""Real processes, one a rank, that start in milliseconds and explain how they ended."""

from course.ranks.launch import LaunchFailed, launch, warm_up
from course.ranks.outcome import Call, Failure, Frame, Outcome, RaisedException, Run

__all__ = [
    "Call",
    "Failure",
    "Frame",
    "LaunchFailed",
    "Outcome",
    "RaisedException",
    "Run",
    "launch",
    "warm_up",
]
