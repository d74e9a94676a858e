"""GRD005: no kernel of the submission computes gradients."""

from collections.abc import Iterator

from grader.records.compared_gradients import Asked, asked_gradients
from grader.rules import Context, Finding, Source, rule_of
from grader.source.analysis.backward_code import where_gradients_are_made


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Compare launches and operators of runs with gradients with those of a run without."""
    asked = [one for one in asked_gradients(context) if one.run and one.run.status == "ran"]
    alone = next((one for one in asked if one.backward.way == "without grad"), None)
    with_ = [one for one in asked if one.backward.way == "once" and not one.result]
    if alone is None or not _launches(alone) or not with_:
        return
    if any(_launches(one) > _launches(alone) for one in with_):
        return
    node = where_gradients_are_made(source)
    names = sorted({name for one in with_ for name in _operators(one)} - _operators(alone))
    yield RULE.finding(
        source.place(node) if node is not None else None,
        "no kernel of the submission is launched for the gradients: torch's own operators compute them"
        + (f" ({', '.join(names[:6])})" if names else ""),
        confidence="proven",
        delegates=True,
    )


def _launches(one: Asked) -> int:
    return sum(launch.count for launch in one.run.launches) if one.run else 0


def _operators(one: Asked) -> set[str]:
    """Return torch's operators, without autograd's graph nodes and those that pass the upstream gradient."""
    names = one.run.operators if one.run else {}
    return {name for name in names if not name.startswith("autograd::")} - {"aten::expand"}


RULE = rule_of(__file__, check, predicts="nothing")
