"""PRF002: neighbouring threads read far-apart addresses."""

from collections.abc import Iterator

from grader.records import AccessShape
from grader.rules import Context, Finding, Source, rule_of
from grader.source.analysis.kernel_accesses import accesses
from grader.source.analysis.traffic import spread

APART = 8
"""Sectors that an access of a warp takes where each lane begins 8 bytes after the one before."""


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Look for lines at which a run's warps used four times the necessary sectors."""
    for unit in source.cuda:
        for kernel in unit.kernels:
            at = [(unit.place(one.node), one.parameter) for one in accesses(kernel)]
            far = [one for one in at if spread(context, one[0].line, APART)]
            for place, _ in far[:1]:
                names = dict.fromkeys(f"`{name}`" for one, name in far if one.line == place.line)
                others = sorted({other.line for other, _ in far} - {place.line})
                more = f" (and on line {', '.join(map(str, others))})" if others else ""
                seen = spread(context, place.line, APART)
                yield RULE.finding(
                    place,
                    f"neighbouring threads are far apart in {' or '.join(names)} on line {place.line}{more}: {seen[0].text}",
                    confidence="proven",
                    evidence=seen,
                    kernels=(kernel.name,),
                    access=AccessShape(lines=(place.line, *others)),
                )


RULE = rule_of(__file__, check)
