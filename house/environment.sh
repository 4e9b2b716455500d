#!/bin/sh
# environment.sh PYTHON VENV TORCH_INDEX: make the environment VENV, or bring it up to date.
# A VENV that has a Python already (a conda environment, say) is filled, not made.
set -eu
python=$1 venv=$2 torch_index=$3

stop() {
    echo "$*" >&2
    exit 1
}

if [ ! -x "$venv/bin/python" ]; then
    command -v "$python" >/dev/null 2>&1 ||
        stop "There is no '$python' here: install Python 3.11 or newer, or name one with 'make lab PYTHON=/path/to/python3'."
    "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
        stop "The course needs Python 3.11 or newer, and '$python' is $("$python" -V 2>&1): name a newer one with 'make lab PYTHON=python3.12'."
    "$python" -c 'import venv, ensurepip' >/dev/null 2>&1 ||
        stop "Python's venv module is missing: on Debian and Ubuntu, 'sudo apt-get install python3-venv' brings it."
    echo "Making the environment in $venv (once; a few minutes, most of it for torch) ..."
    if [ "$(uname)" = Linux ] && [ -z "$torch_index" ] && ! command -v nvidia-smi >/dev/null 2>&1; then
        echo "(No NVIDIA GPU is seen here. If the download is long: Ctrl-C, then start with"
        echo " 'make lab TORCH_INDEX=https://download.pytorch.org/whl/cpu', for torch's small CPU build.)"
    fi
    "$python" -m venv "$venv"
fi

pip() {
    "$venv/bin/python" -m pip --disable-pip-version-check "$@"
}

pip install --quiet ${torch_index:+--extra-index-url "$torch_index"} -r requirements.lock ||
    stop "The packages could not be installed: pip's message is above, and 'make lab' tries again."
# The course itself, so that its notebooks can import it from any folder. setuptools is in the
# lock file, so nothing more is fetched to build it.
PYTHONWARNINGS=ignore pip install --quiet --no-deps --no-build-isolation --editable .
# nvcc tells a kernel's registers, without a GPU, too. Where there is none, PyPI has it for Linux, at
# the version that torch is built for.
if [ "$(uname)" = Linux ] && ! command -v nvcc >/dev/null 2>&1; then
    PYTHONWARNINGS=ignore pip install --quiet --no-build-isolation --editable '.[nvcc]' ||
        echo "(nvcc could not be installed. Lesson 1 then shows figures of registers that it had before.)"
fi
# What all CUDA programs share on the CPU takes seconds to compile: now, not when somebody waits.
"$venv/bin/python" -c 'from course import cuda; cuda.warm_up()' >/dev/null 2>&1 || true
"$venv/bin/python" -m ipykernel install --sys-prefix --name multi-gpu-course \
    --display-name "Multi-GPU course" >/dev/null
