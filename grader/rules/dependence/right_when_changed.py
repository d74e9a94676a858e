"""DEP006: under one small change of a line, all results are right."""

from collections.abc import Iterator
from itertools import chain

from grader.records import Counterfactual
from grader.records.changes import OtherArgument, OtherHostCode
from grader.records.observed import wrong_results
from grader.rules import Context, Edit, Finding, Fix, Place, Source, rule_of
from grader.source.analysis.counterfactual import say_change
from grader.source.rewriting.changed_argument import changed_argument
from grader.source.rewriting.changed_line import ChangedLine

MOST = 5
"""Most proposed ways to write a change."""


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Report the change that a counterfactual run proved, with its line."""
    for item in context.evidence_of("provenance"):
        if isinstance(item.details, Counterfactual) and item.place is not None:
            taken = item.details.taken_at
            yield RULE.finding(
                source.line_place(taken) if taken else item.place,
                say_change(source, item.place, item.details),
                severity="warning" if item.details.makes_up else "error",
                confidence="possible" if item.details.makes_up else "proven",
                root_cause=not item.details.makes_up,
                evidence=[item, *wrong_results(context)[:4]],
                fixes=_fixes(source, item.place, item.details),
            )


def _fixes(source: Source, place: Place, change: Counterfactual) -> list[Fix]:
    """Return the ways to write the change, the likeliest first.

    A change without a word in the text is guessed several times in Triton, and once in CUDA, where the search for small
    changes tries many in one build.
    """
    match change.change:
        case OtherHostCode(edits=edits):
            every = [tuple(Edit(start=a, end=b, text=text) for a, b, text in edits)]
        case OtherArgument() as argument:
            every = [changed_argument(source, place, argument)]
        case changed:
            places = (place, *(place.model_copy(update={"line": n}) for n in change.also))
            ways = [_ways(ChangedLine(source, one, changed)) for one in places]
            every = [tuple(chain(*together)) for together in zip(*ways, strict=False)]
    known = [edits for edits in dict.fromkeys(every) if edits]
    return [Fix(label=_label(source, place, edits), edits=edits) for edits in known[:MOST]]


def _ways(line: ChangedLine) -> list[tuple[Edit, ...]]:
    """Return the places of a change on its line, each alone and then all together; for two values, both."""
    if line.of_two:
        return [tuple(map(line.edit, both)) for both in line.of_both()]
    exact = [line.edit(one) for one in line.exact()]
    likely = line.likely() if line.place.language == "python" else line.likely()[: not exact]
    single: list[tuple[Edit, ...]] = [(one,) for one in (*exact, *map(line.edit, likely))]
    return [*single[: MOST - 1], tuple(exact)] if len(exact) > 1 else single


def _label(source: Source, place: Place, edits: tuple[Edit, ...]) -> str:
    each = [f"`{one.text}` in the place of `{source.code[one.start : one.end]}`" for one in edits]
    return f"line {place.line}: {' and '.join(dict.fromkeys(each))}"


RULE = rule_of(__file__, check)
