"""The documentation as a site: `sphinx-build -W docs SITE`."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

project = "kernel-grader"
author = "the kernel-grader authors"
extensions = ["myst_parser", "cyclopts.ext.sphinx"]
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = "kernel-grader"
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3
suppress_warnings = [
    "myst.xref_missing",
    "misc.highlighting_failure",
]  # links out of docs/ lead into the repository
linkcheck_anchors = False
pygments_style = "friendly"
pygments_dark_style = "monokai"
