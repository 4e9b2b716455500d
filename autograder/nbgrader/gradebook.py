"""What the gradebook must know before nbgrader grades."""

from __future__ import annotations

from nbgrader.api import Gradebook, MissingEntry
from nbgrader.converters import Autograde, GenerateAssignment


def make_known(converter: Autograde) -> None:
    """See that the gradebook knows the assignment that is to be graded.

    It learns of one when nbgrader generates it. The course's releases are committed, so with a
    fresh clone, or a new gradebook, nobody may have had a reason to generate anything.

    Raises:
        NbGraderException: there is no such assignment, or it cannot be generated.
    """
    coursedir = converter.coursedir
    with Gradebook(coursedir.db_url, coursedir.course_id) as gradebook:
        try:
            gradebook.find_assignment(coursedir.assignment_id)
            return
        except MissingEntry:
            converter.log.info("The gradebook does not know %s yet", coursedir.assignment_id)
    GenerateAssignment(coursedir=coursedir, parent=converter).start()
