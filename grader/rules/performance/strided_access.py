"""PRF002: neighbouring threads read far-apart addresses."""

from collections.abc import Iterator

from grader.records import Context, Finding
from grader.rules.page_file import rule_of
from grader.source import Source
from grader.source.analysis.traffic import Reach, far_reaching


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Look for accesses far from lane to lane: by threads that walk a row each, and all that take four times the sectors."""
    for wanted, said in ((_walks, "each thread walks a row of its own: "), (_reaches, "")):
        for far in far_reaching(source, context, wanted):
            more = f" (and on line {far.more})" if far.others else ""
            yield RULE.finding(
                far.place,
                f"{said}neighbouring threads are {far.stride} apart in `{far.first.access.region.name}` on line {far.line}{more}: a warp touches "
                f"{far.moved_sectors}",
                confidence=far.confidence,
                evidence=far.proof,
                kernels=(far.case.kernel,),
                cause=far.cause,
                root_cause=wanted is _walks,
                access=far.access,
            )


def _walks(reach: Reach) -> bool:
    """Whether a thread moves by one element a turn, along a row that others don't share."""
    return reach.access.kind == "load" and abs(reach.turn) == 1 and reach.stride > 8


def _reaches(reach: Reach) -> bool:
    return reach.sectors >= 4 * reach.ideal and abs(reach.turn) != 1 and reach.stride > 8


RULE = rule_of(__file__, check)
