"""The first lines of the page on Python run, and print what the page says."""

import os
import re
import subprocess
import sys
from pathlib import Path

from .pages import ROOT

PAGE = (ROOT / "docs" / "how-to" / "python.md").read_text("utf-8")


def test_the_first_lines_print_what_the_page_shows(tmp_path: Path) -> None:
    code, shown = re.findall(r"^```\w+\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)[:2]
    own = {"KERNEL_GRADER_DEVICE": "none", "KERNEL_GRADER_CACHE": str(tmp_path / "cache")}
    told = subprocess.run(
        [sys.executable, "-c", code],
        check=False,
        cwd=ROOT,
        env={**os.environ, **own, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert told.returncode == 0, told.stderr
    assert told.stdout == shown
