"""The page's client talks to the command that the page names."""

import os
import re
import subprocess
import sys
from pathlib import Path

from .pages import ROOT

PAGE = (ROOT / "docs" / "how-to" / "agent.md").read_text("utf-8")


def test_the_client_of_the_page_gets_a_review(tmp_path: Path) -> None:
    (code,) = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    command = f'command={sys.executable!r}, args=["{ROOT / "grade.py"}", '
    code = code.replace('command="kernel-grader", args=[', command)
    told = subprocess.run(
        [sys.executable, "-c", code],
        check=False,
        cwd=ROOT,
        env={**os.environ, "XDG_CACHE_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert told.returncode == 0, told.stderr
    assert "warning BLD007 line 44" in told.stdout
