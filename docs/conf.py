"""The documentation as a site: `sphinx-build -W docs SITE`."""

import re
import sys
from pathlib import Path
from typing import Any

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

RULE_PAGE = re.compile(r"\]\((?:\.\./)+grader/rules/([\w/]+)\.md\)")
"""A link to a rule's page in the repository; on the site its page is made, and lies below rules/."""


CONTENTS = {
    "index": ["rules/README"],
    "how-to/index": [],
    "reference/index": ["*", "../rules/[A-Z][A-Z][A-Z]*"],
    "explanation": ["decisions/*"],
}
"""The pages that others hang on: those that they link to, and these. A directive in them would be shown as code on GitHub."""
PAGE_LINK = re.compile(r"\]\(([\w/-]+)\.md\)")


def add_contents(_app: object, page: str, source: list[str]) -> None:
    """Hang on a page what it links to."""
    if page in CONTENTS:
        entries = dict.fromkeys([*PAGE_LINK.findall(source[0]), *CONTENTS[page]])
        source[0] += "\n".join(["\n```{toctree}", ":hidden:", ":glob:", "", *entries, "```\n"])


def write_rule_pages(_app: object) -> None:
    """Write the pages of the rules before anything is read."""
    from grader.rules.page import site_pages

    folder = ROOT / "docs" / "rules"
    folder.mkdir(exist_ok=True)
    for name, text in site_pages().items():
        (folder / name).write_text(text, encoding="utf-8")


def link_rule_pages(_app: object, _page: str, source: list[str]) -> None:
    """Let links to the pages of rules lead to those of the site."""
    from grader.rules.page import file_of
    from grader.rules.registry import own_rules

    files = {file_of(rule).removesuffix(".md"): code for code, rule in own_rules().items()}
    named = lambda match: f"](/rules/{files.get(match[1], 'README')}.md)"  # noqa: E731
    source[0] = RULE_PAGE.sub(named, source[0])


def setup(app: Any) -> None:
    """Have Sphinx call what is above."""
    app.connect("builder-inited", write_rule_pages)
    app.connect("source-read", add_contents)
    app.connect("source-read", link_rule_pages)
