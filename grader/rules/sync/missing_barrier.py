"""SYN002: threads use shared memory without a barrier in between."""

import ast
from collections.abc import Iterator

from grader.records import Race
from grader.records.observed import observed_evidence
from grader.rules import Context, Evidence, Finding, Severity, Source, fix, rule_of
from grader.rules.causes import cause_of
from grader.rules.proofs import by_line
from grader.source.analysis.races import is_within_program, join_races, lines_of, shared_on
from grader.source.code_edits import insert_line_before


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Look for conflicting accesses in one barrier interval, by threads of one warp or several."""
    seen, volatile = observed_evidence(context, "race"), observed_evidence(context, "race-volatile")
    for items in join_races((*seen, *volatile, *_too_early(context, seen))):
        first = next((one for one in items if _reads_too_early(one)), items[0])
        others = [one for one in items if one is not first]
        weight: Severity = "warning" if all(one in volatile for one in items) else "error"
        said = cause_of(first, _raced_for(source, first))
        yield RULE.finding(first.place, said, severity=weight, evidence=(first, *others))
    yield from _of_programs(source, context)
    yield from _of_one_value(context)


def _of_programs(source: Source, context: Context) -> Iterator[Finding]:
    """Yield the races between warps of one Triton program: the compiler inserts barriers only for shared memory."""
    seen = tuple(filter(is_within_program, observed_evidence(context, "global-race")))
    for first, *others in join_races(seen):
        at = first.place
        here = [node for node in source.walk(ast.stmt) if at and node.lineno == at.line]
        yield RULE.finding(
            at,
            f"{cause_of(first)}: {_lacking(first)}",
            evidence=(first, *others),
            fixes=fix(
                "let the program's warps meet",
                [
                    insert_line_before(source, node, f"{' ' * node.col_offset}tl.debug_barrier()")
                    for node in here[:1]
                ],
            ),
        )


def _lacking(race: Evidence) -> str:
    """Return the fixes that order the accesses of a race within a program; no barrier orders those of one store."""
    once = isinstance(race.details, Race) and race.details.conflict == "write-write"
    if once and race.place and all(one.line == race.place.line for one in race.related):
        return "the elements that this line stores to overlap"
    return "`tl.debug_barrier()` is missing"


def _raced_for(source: Source, item: Evidence) -> str:
    """Return the shared array of a race, if both lines name only one."""
    places = (item.place, *item.related)
    lines = {place.line for place in places if place is not None}
    named = [array for unit in source.cuda for array in shared_on(unit, lines)]
    if len({array.name for array in named}) != 1:
        return "what"
    array = named[0]
    return (
        f"a cell of `{array.name}` that"
        if array.sizes or array.extern
        else f"`{array.name}`, which"
    )


def _of_one_value(context: Context) -> Iterator[Finding]:
    """Yield the lines with only a race of stores of the same value."""
    racing = lines_of(observed_evidence(context, "race", "global-race"))
    same = (item for item in observed_evidence(context, "same-value") if item.place)
    said = "several threads store the same value here without a barrier between: benign, since it stays whichever store is the last"
    for items in by_line(
        one for one in same if one.place and one.place.line not in racing
    ).values():
        yield RULE.finding(items[0].place, said, severity="note", evidence=items)


def _reads_too_early(item: Evidence) -> bool:
    return isinstance(item.details, Race) and item.details.conflict == "write-read"


def _too_early(context: Context, seen: tuple[Evidence, ...]) -> Iterator[Evidence]:
    """Yield reads of memory that other threads write later, on the lines of races."""
    for item in observed_evidence(context, "uninit"):
        if item.place is not None and item.place.line in lines_of(seen):
            yield item


RULE = rule_of(__file__, check)
