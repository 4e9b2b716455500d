"""Jupyter's settings for ``make lab``; house/lab.py says where they are."""

import os
from pathlib import Path

c = get_config()  # type: ignore[name-defined] # noqa: F821

# Loopback only, and a token: whoever reaches this server can run code as its owner. On a remote
# machine it is reached through ssh (README), never by listening to the network.
c.ServerApp.ip = "127.0.0.1"
c.ServerApp.allow_remote_access = False
c.IdentityProvider.token = Path(os.environ["COURSE_LAB_TOKEN_FILE"]).read_text().strip()

# Containers and rented machines often have only root. The two lines above hold there as well.
c.ServerApp.allow_root = True

# The address is printed by house/lab.py; Jupyter's own forty lines would hide it.
c.Application.log_level = "ERROR"

c.ServerApp.default_url = "/lab/tree/START.md"
c.MultiKernelManager.default_kernel_name = "multi-gpu-course"
c.KernelManager.transport_encryption = "auto"  # or each kernel warns in the reader's terminal

# Nothing that calls out: no news, no look for updates, no extensions from the network.
c.LabApp.news_url = None
c.LabApp.check_for_updates_class = "jupyterlab.NeverCheckForUpdate"
c.LabApp.extension_manager = "readonly"

# Not for learners: nbgrader's pages (they want a course's configuration), Notebook 7's second
# interface, and jupytext's, which would open a .py file as a notebook.
c.ServerApp.jpserver_extensions = {
    "nbgrader.server_extensions.formgrader": False,
    "nbgrader.server_extensions.validate_assignment": False,
    "nbgrader.server_extensions.assignment_list": False,
    "nbgrader.server_extensions.course_list": False,
    "jupyterlab_jupytext": False,
    "notebook": False,
}
