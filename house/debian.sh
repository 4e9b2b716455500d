#!/bin/sh
# Install the Debian packages that the tests need, where we may; else say what is missing.
# Never fails: a test whose tool is missing says so itself, and counts as a failure in CI only.
set -u

missing=""
need() { # need COMMAND PACKAGE WHAT_FOR
    command -v "$1" >/dev/null 2>&1 && return
    missing="$missing $2"
    echo "Missing: $1 (Debian package $2), for $3."
}
need_font() {
    if command -v fc-list >/dev/null 2>&1 && [ -n "$(fc-list 2>/dev/null)" ]; then return; fi
    missing="$missing fonts-dejavu fontconfig"
    echo "Missing: fonts (Debian package fonts-dejavu), for screenshots that can be read."
}

need g++ g++ "the tests that compile C++"
need bwrap bubblewrap "the tests of the jail for submitted answers"
if ! command -v chromium-browser >/dev/null 2>&1 && ! command -v google-chrome >/dev/null 2>&1; then
    need chromium chromium "the tests of JupyterLab in a browser"
fi
need_font

[ -z "$missing" ] && exit 0

if ! command -v apt-get >/dev/null 2>&1; then
    echo "This machine has no apt-get: the tests named above will be skipped."
    exit 0
fi
if [ "$(id -u)" = 0 ]; then
    as_root=""
elif command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then
    as_root="sudo -n"
else
    echo "The tests named above will be skipped. To run them: sudo apt-get install$missing"
    exit 0
fi

install() {
    # shellcheck disable=SC2086  # words, on purpose
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends \
        $missing >/dev/null
}
echo "Installing:$missing"
# The package lists of a fresh machine are empty or old: fetch them only when that shows.
install 2>/dev/null || { $as_root apt-get update -q >/dev/null && install; } ||
    echo "They could not be installed: the tests named above will be skipped."
exit 0
