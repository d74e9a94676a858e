"""GRD004: backward changes tensors that forward saved or returned."""

from collections.abc import Iterator, Sequence

from grader.records.compared_gradients import Asked, asked_gradients
from grader.rules import Context, Finding, Source, rule_of
from grader.source.analysis.backward_code import backwards

SPOILS_RESULT = (
    "forward's result is right under `no_grad`, and wrong once backward has run: backward writes "
    "into it (a saved tensor is the result itself, not a copy)"
)
SPOILS_SAVED = (
    "a first backward is right, and a second one through the same graph is wrong: backward changes "
    "what forward saved, or adds to a buffer that it keeps"
)


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Compare results without backward, after one and after two."""
    asked = tuple(asked_gradients(context))
    where = next(backwards(source), None)
    for said, wrong in ((SPOILS_RESULT, _spoiled_results(asked)), (SPOILS_SAVED, _second(asked))):
        if wrong and where is not None:
            yield RULE.finding(
                source.line_place(where.lineno),
                said,
                confidence="proven",
                evidence=[item for one in wrong for item in one.evidence],
                root_cause=True,
            )
            return


def _spoiled_results(asked: Sequence[Asked]) -> list[Asked]:
    """Return the place of a result that is wrong with gradients, if it is right without."""
    alone = [one for one in asked if one.backward.way == "without grad"]
    wrong = [one for one in asked if one.result.startswith("output")]
    return wrong if alone and not any(one.result for one in alone) else []


def _second(asked: Sequence[Asked]) -> list[Asked]:
    """Return the place of a wrong second pass, if all first ones with a contiguous upstream gradient are right."""
    first = [one for one in asked if one.backward.way == "once" and one.backward.in_order]
    wrong = [one for one in asked if one.backward.way == "twice" and one.result]
    return wrong if first and not any(one.result for one in first) else []


RULE = rule_of(__file__, check)
