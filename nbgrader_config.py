"""nbgrader for this course: grading reads answers as text, judges them, and starts no kernel."""

import os
import sys
import warnings
from pathlib import Path

root = Path(__file__).resolve().parent
c = get_config()  # noqa: F821

# nbgrader and formgrader import the names below, from wherever they were started.
sys.path.insert(0, str(root))
# nbgrader finds alembic by PATH when it makes a gradebook, and the environment may not be active.
os.environ["PATH"] = os.pathsep.join([os.environ.get("PATH", ""), str(Path(sys.executable).parent)])
# Said of nbgrader's own code by SQLAlchemy, at every command.
warnings.filterwarnings("ignore", "Object of type .* not in session", module="nbgrader")

c.CourseDirectory.root = str(root)
c.CourseDirectory.course_id = "multi-gpu-course"
# The lesson's text holds the answers: it stays here.
c.CourseDirectory.ignore = [".ipynb_checkpoints", "*.pyc", "__pycache__", "feedback", "lesson.py"]

# Releases are committed. Without this, `nbgrader generate_assignment` in a fresh clone finds one,
# skips the assignment, and the gradebook never hears of it.
c.GenerateAssignment.force = True

# nbgrader's own list, with a ClearSolutions that knows CUDA C++.
c.GenerateAssignment.preprocessors = [
    "nbgrader.preprocessors.IncludeHeaderFooter",
    "nbgrader.preprocessors.InstantiateTests",
    "nbgrader.preprocessors.LockCells",
    "autograder.nbgrader.clear.ClearSolutions",
    "nbgrader.preprocessors.ClearOutput",
    "nbgrader.preprocessors.CheckCellMetadata",
    "nbgrader.preprocessors.ComputeChecksums",
    "nbgrader.preprocessors.SaveCells",
    "nbgrader.preprocessors.ClearHiddenTests",
    "nbgrader.preprocessors.ClearMarkScheme",
    "nbgrader.preprocessors.ComputeChecksums",
    "nbgrader.preprocessors.CheckCellMetadata",
]

c.Autograde.exporter_class = "autograder.nbgrader.exporter.SubmissionExporter"
c.Autograde.pre_convert_hook = "autograder.nbgrader.reading.expect_lesson_name"
c.Autograde.sanitize_preprocessors = [
    "autograder.nbgrader.transplant.Transplant",
    "nbgrader.preprocessors.OverwriteCells",
    "nbgrader.preprocessors.CheckCellMetadata",
]
c.Autograde.autograde_preprocessors = [
    "autograder.nbgrader.judging.Judge",
    "nbgrader.preprocessors.SaveAutoGrades",
    "nbgrader.preprocessors.AssignLatePenalties",
    "nbgrader.preprocessors.CheckCellMetadata",
]
