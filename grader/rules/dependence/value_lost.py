"""DEP002: values read for a result are lost before they reach it."""

from collections.abc import Iterator

from grader.records import Dependence
from grader.records.observed import beside, differences
from grader.rules import Context, Finding, Place, Source, rule_of
from grader.source.analysis.overwritten import place_overwritten
from grader.source.analysis.steering import Steering, around, bound_made, carried_over


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Report the line where the values are lost, and their threads."""
    for item, gap in differences(context, "lost"):
        loop, carried = None, None
        ends = item.related[:1] if gap.threads else ()
        anew = place_overwritten(source, (item.place, *ends)) if gap.walk != "between" else None
        for place in filter(None, (item.place, *ends)) if gap.walk != "between" else ():
            carried = carried or (None if gap.threads or gap.holes else carried_over(source, place))
            loop = loop or _bounding_loop(source, place)
        made = bound_made(loop) if loop else None
        yield RULE.finding(
            anew or carried or made or (loop.place if loop else item.place),
            f"{item.text}{_of_threads(gap)}{_set_anew(anew) or _say_kept(carried) or _lost_by(loop, made)}",
            confidence="proven",
            evidence=[item, *beside(context, gap)],
            cause="dependence",
            last_resort=True,
        )


def _bounding_loop(source: Source, place: Place) -> Steering | None:
    """Return the innermost loop around the step that drops the values."""
    return next(
        (one for one in around(source, place) if one.is_loop and not one.over_the_grid), None
    )


def _set_anew(place: Place | None) -> str:
    """Return a clause on a loop that overwrites values of earlier iterations."""
    return f": line {place.line} sets anew in each turn what it could add to" if place else ""


def _say_kept(carried: Place | None) -> str:
    """Return a clause on a loop's value for its next iteration."""
    return f": line {carried.line} keeps what goes into the next turn" if carried else ""


def _lost_by(loop: Steering | None, made: Place | None) -> str:
    bound = f", and line {made.line} computes its bound" if made else ""
    return f": look at the bounds of the loop at line {loop.place.line}{bound}" if loop else ""


def _of_threads(gap: Dependence) -> str:
    if not gap.threads:
        return ""
    first, last = gap.threads
    return (
        f" (thread {first} read them)"
        if first == last
        else f" (threads {first} to {last} of their blocks read them)"
    )


RULE = rule_of(__file__, check)
