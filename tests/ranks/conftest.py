"""Everything here runs with a temporary folder of its own, so that what is left in it is ours."""

from __future__ import annotations

import sys
import tempfile

import pytest


@pytest.fixture(scope="session", autouse=True)
def _own_temporary_folder(tmp_path_factory):
    import course.ranks

    server = sys.modules["course.ranks.launch"]._server()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TMPDIR", str(tmp_path_factory.mktemp("ranks")))
        patch.setattr(tempfile, "tempdir", None)
        server.stop()  # the next one finds the new folder
        course.ranks.warm_up()
        yield
        sys.modules["course.ranks.launch"]._server().stop()
