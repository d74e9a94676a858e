"""DEP004: a tensor is read through a pointer to a narrower type than its own."""

import re
from collections.abc import Iterator

from grader.records import Touched
from grader.records.observed import touched_by_lines
from grader.rules import Context, Finding, Place, Source, rule_of
from grader.source.nodes import text
from grader.source.scalar_types import SIZES


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Report the line that reads parts of elements as elements."""
    traced = {item.workload for item in context.evidence_of("provenance")}
    mismatches = [item for item in context.evidence_of("mismatch") if item.workload in traced]
    told: set[tuple[str, str, int]] = set()
    for item, details in touched_by_lines(context):
        line = item.place.line if item.place else 0
        key = (details.tensor, details.access, line)
        if not mismatches or details.width >= details.item or key in told:
            continue
        told.add(key)
        verb = "reads" if details.access == "load" else "writes"
        cast = _cast(source, details)
        yield RULE.finding(
            cast or item.place,
            f"{f'`{cast.excerpt}`: ' if cast else ''}line {line} {verb} {details.tensor}, a tensor of {details.dtype} ({details.item} bytes an element), "
            f"in elements of {details.width} bytes: index i is then half-way into another element, and "
            f"{details.size - details.elements} of its {details.size} elements are not reached",
            confidence="proven",
            evidence=[item, *mismatches[:1]],
            cause="view",
            root_cause=True,
        )


def _cast(source: Source, details: Touched) -> Place | None:
    """Return the only cast of a tensor's pointer to a type of that width and not the tensor's own."""
    found = [
        unit.place(node)
        for unit in source.cuda
        for kind in ("cast_expression", "call_expression")
        for node in unit.nodes(kind)
        if (match := _CAST.match(text(node))) and SIZES.get(match["type"]) == details.width
    ]
    return found[0] if len(found) == 1 else None


_CAST = re.compile(
    r"(?:\(|(?:reinterpret|static)_cast\s*<)\s*(?:const\s+)?(?P<type>[\w:]+)\s*(?:const\s*)?\*[^,;]*data_ptr"
)


RULE = rule_of(__file__, check)
