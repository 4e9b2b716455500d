"""The server that ``make lab`` starts: who may talk to it, and what it offers a learner."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.browser.lab import Lab, running_lab


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with running_lab(tmp_path_factory.mktemp("lab")) as running:
        yield running


def test_without_the_token_nothing_is_served(lab: Lab) -> None:
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(f"http://127.0.0.1:{lab.port}/api/contents", timeout=10)
    assert refused.value.code == 403


def test_it_listens_on_the_loopback_interface_only(lab: Lab) -> None:
    outward = [a for a in addresses_of_this_machine() if not a.startswith("127.")]
    for address in outward:
        with socket.socket() as probe:
            probe.settimeout(2)
            assert probe.connect_ex((address, lab.port)) != 0, address


def addresses_of_this_machine() -> list[str]:
    found = subprocess.run(["hostname", "-I"], capture_output=True, text=True, check=False)
    return [word for word in found.stdout.split() if ":" not in word]


def test_the_courses_kernel_is_the_default(lab: Lab) -> None:
    kernels = json.loads(json.dumps(lab.api("kernelspecs")))
    assert kernels["default"] == "multi-gpu-course"
    spec = kernels["kernelspecs"]["multi-gpu-course"]["spec"]
    assert spec["display_name"] == "Multi-GPU course"
    assert os.access(spec["argv"][0], os.X_OK)


def test_the_learner_sees_the_lessons_and_nothing_else(lab: Lab) -> None:
    listing = json.loads(json.dumps(lab.api("contents")))
    names = {entry["name"] for entry in listing["content"]}
    assert "START.md" in names
    assert not names & {"course", "autograder", "source", "Makefile"}


def test_the_terminal_shows_the_address_and_no_noise(lab: Lab) -> None:
    said = lab.log.read_text()
    assert lab.start_url in said
    for noise in ("[W ", "[E ", "WARNING", "Traceback"):
        assert noise not in said


def test_every_link_of_the_start_page_leads_somewhere() -> None:
    release = Path(__file__).resolve().parents[2] / "release"
    for link in links(release / "START.md"):
        assert (release / link).is_file(), link


def links(page: Path) -> list[str]:
    text = page.read_text()
    targets = [part.split(")")[0] for part in text.split("](")[1:]]
    return [target for target in targets if "://" not in target]
