"""Pictures of coverage: which indices of a tensor a line reads or writes, dim by dim."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from markupsafe import Markup

from grader.records import Evidence, Extent, Touched
from grader.report.html import svg
from grader.report.html.steps import Drawn

MOST = 3
_LEFT, _WIDE = 110.0, 300.0
_DONE = {"load": "reads", "store": "writes", "atomic": "updates"}


def coverage(seen: Sequence[Evidence]) -> Iterator[Drawn]:
    """Yield a strip for each dim that a line covers only in part."""
    drawn = 0
    for item in seen:
        touched = item.details
        if not isinstance(touched, Touched) or item.place is None or drawn == MOST:
            continue
        short = [(at, one) for at, one in enumerate(touched.extents) if one.count < one.size]
        if short:
            drawn += 1
            done = f"line {item.place.line} {_DONE[touched.access]} {touched.tensor}"
            parts = [part for row, (at, one) in enumerate(short) for part in _strip(row, at, one)]
            caption = f"What {done} of, dim by dim: {item.text}."
            yield Drawn(svg.picture(460, 34.0 * len(short) + 6, caption, parts), caption)


def _strip(row: int, dim: int, extent: Extent) -> Iterator[Markup]:
    y, each = 34.0 * row, _WIDE / extent.size
    yield svg.text(0, y + 17, f"dim {dim}: 0 to {extent.size - 1}")
    yield svg.rect(_LEFT, y + 4, _WIDE, 18, "hollow", title="left out")
    start, wide = extent.first * each, (extent.last - extent.first + 1) * each
    kind = "cat0" if extent.step == 1 else "cat1"
    words = f"{extent.first} to {extent.last}" + ("" if extent.step == 1 else ", in part")
    yield svg.rect(_LEFT + start, y + 4, max(wide, 1.0), 18, kind, title=words)
    yield svg.text(_LEFT, y + 33, words)
