"""`kernel-grader --install-completion` gives bash the commands, their options and their values."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.whole import ROOT

pytestmark = pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")
COMPLETE = """
source "$1"
shift
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMP_LINE="$*" COMP_POINT=1000
$(complete -p kernel-grader | sed 's/.*-F \\([^ ]*\\) .*/\\1/')
echo "${COMPREPLY[@]}"
"""


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("home")
    command = [sys.executable, str(ROOT / "grade.py"), "--install-completion"]
    own = {"HOME": str(home), "SHELL": "/bin/bash"}
    done = subprocess.run(
        command, check=False, env={**os.environ, **own}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "bash-completion" in (home / ".bashrc").read_text()
    (found,) = (home / ".local").rglob("kernel-grader")
    return found


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        (("expl",), {"explain"}),
        (("github",), {"github-comment"}),
        (("--dev",), {"--device"}),
        (("--device", "s"), {"sim"}),
        (("samples", "--"), {"--to"}),
    ],
)
def test_bash_completes_what_is_typed(
    typed: tuple[str, ...], offered: set[str], script: Path
) -> None:
    words = ["bash", "-c", COMPLETE, "bash", str(script), "kernel-grader", *typed]
    done = subprocess.run(words, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert offered <= set(done.stdout.split()), done.stdout
