"""DEP005: a line is the first whose value isn't an intermediate value of the reference."""

import re
from collections.abc import Iterator, Sequence

from grader.records.observed import dependence_differs, values_of, wrong_results
from grader.rules import Context, Evidence, Finding, Source, rule_of
from grader.source.analysis.on_the_way import on_the_way
from grader.source.analysis.overwritten import place_overwritten

NO_FORMULA = frozenset({"half-precision", "half-sums", "probe-kept", "probe-unsteady"})
"""Patterns that don't concern one line's value: rounding, and state between calls."""
FEW_DIGITS = re.compile(r"half|bf16|bfloat|fp16|tf32|fp8|e4m3|e5m2", re.IGNORECASE)
"""Signs of low-precision arithmetic in a text; in any other, errors of that size aren't rounding."""


LARGE = 1e-4
"""Relative errors too large for float32 rounding."""


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Report the line, if the run had intermediate values of the reference."""
    wrong = wrong_results(context)
    rounds = FEW_DIGITS.search(source.code) is not None
    if (
        all(_is_no_formula(item, rounds=rounds) for item in wrong)
        or dependence_differs(context)
        or any(i.code.startswith("probe-k") for i in wrong)
    ):
        return
    first = _in_common(wrong)
    made = on_the_way(source, context, first)
    if made is None:
        return
    slices = [item for item in context.evidence_of("provenance") if item.code == "slice"]
    anew = place_overwritten(source, [made.place])
    forgets = f"; line {anew.line} sets anew in each turn what it could add to" if anew else ""
    yield RULE.finding(
        anew or made.place,
        f"{made.words}{forgets}",
        confidence="proven",
        evidence=[*(item for item in wrong if item.code == first.code), *slices],
        cause="value",
        last_resort=True,
    )


def _in_common(wrong: Sequence[Evidence]) -> Evidence:
    """Return the common factor or offset of all wrong results, else the first wrong result."""
    patterns = [item for item in wrong if item.kind == "mismatch"]
    for code in ("constant-factor", "constant-offset"):
        off = [item for item in patterns if item.code == code]
        if off and {item.workload for item in off} == {item.workload for item in patterns}:
            return off[0]
    return next(
        (i for i in wrong if i.code not in {"constant-factor", "constant-offset"}), wrong[0]
    )


def _is_no_formula(item: Evidence, *, rounds: bool) -> bool:
    large = item.code == "half-precision" and (values_of(item).error or 0.0) > LARGE
    return item.code in NO_FORMULA and (rounds or not large)


RULE = rule_of(__file__, check)
