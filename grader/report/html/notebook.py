"""A review's page inside a notebook: in a frame of its own, where nothing can run."""

from __future__ import annotations

from markupsafe import escape

from grader.records import Review
from grader.report.escape import one_line
from grader.report.html.page import render

_HEIGHT = 640
"""Pixels; the reader can pull it taller."""
_STYLE = f"width:100%;height:{_HEIGHT}px;border:0;resize:vertical;overflow:auto"


def frame(review: Review) -> str:
    """Return the page as one HTML element.

    The frame isolates the notebook from the page's style and the notebook's scripts from the sample's text: it is
    sandboxed without permissions, so that no script runs even where escaping had missed one.
    """
    title = escape(one_line(f"{review.sample}: {review.verdict.status}"))
    body = escape(render(review, alone=True))
    return f'<iframe sandbox="" title="{title}" style="{_STYLE}" srcdoc="{body}"></iframe>'
