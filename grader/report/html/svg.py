"""Pieces of SVG: every text and attribute escaped, colours by class so that both schemes hold."""

from __future__ import annotations

import math
from collections.abc import Iterable

from markupsafe import Markup

from grader.report.escape import one_line


def tag(name: str, content: str | Markup = "", **attributes: object) -> Markup:
    """Return an element; `class_` becomes `class`, underscores become hyphens, text is escaped."""
    written = Markup("").join(
        Markup(' {}="{}"').format(key.rstrip("_").replace("_", "-"), _number(value))
        for key, value in attributes.items()
    )
    return Markup("<{0}{1}>{2}</{0}>").format(name, written, content)


def picture(width: float, height: float, label: str, parts: Iterable[Markup]) -> Markup:
    """Return a picture that a screen reader reads as its label."""
    label = one_line(label, 500)
    content = tag("title", label) + Markup("").join(parts)
    return tag(
        "svg",
        content,
        viewBox=f"0 0 {width:g} {height:g}",
        width=width,
        height=height,
        role="img",
        aria_label=label,
    )


def text(x: float, y: float, words: str, class_: str = "", anchor: str = "start") -> Markup:
    """Return a line of text, cleaned."""
    return tag("text", one_line(words, 80), x=x, y=y, class_=class_, text_anchor=anchor)


def rect(
    x: float, y: float, width: float, height: float, class_: str, *, title: str = ""
) -> Markup:
    """Return a rectangle, with a tooltip if there is a title."""
    inside = tag("title", one_line(title)) if title else ""
    return tag("rect", inside, x=x, y=y, width=width, height=height, class_=class_)


def dot(x: float, y: float, class_: str, title: str) -> Markup:
    """Return a disc with a tooltip."""
    return tag("circle", tag("title", one_line(title)), cx=x, cy=y, r=4.5, class_=class_)


def line(x1: float, y1: float, x2: float, y2: float, class_: str) -> Markup:
    """Return a straight line."""
    return tag("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=class_)


def cut_words(words: str, most: int) -> str:
    """Return the words, shortened where they are longer than there is room."""
    return words if len(words) <= most else f"{words[: most - 1]}…"


def doublings(values: Iterable[float]) -> list[float]:
    """Return base-two logarithms, at most 2**10 to either side, so that one outlier hides nothing."""
    return [max(-10.0, min(10.0, math.log2(value))) if value > 0 else -10.0 for value in values]


def _number(value: object) -> object:
    return f"{value:.4g}" if isinstance(value, float) else value
