"""Every rule explains itself, fires on its bad examples, spares its good ones, never raises."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.records import Context, Evidence
from grader.rules import Rule, all_rules
from grader.rules.registry import own_rules
from grader.source import parse
from grader.source.edits import apply
from tests.rules.examples import each

RULES = tuple(own_rules().values())
EXAMPLES = [
    (rule.code, kind, index)
    for rule in RULES
    for kind in ("Bad", "Good")
    for index in range(len(each(rule.code, kind)))
]
NOISE = Context(
    evidence=tuple(
        Evidence(kind=kind, code="unknown", text="something that no rule knows")
        for kind in ("compiler", "ptxas", "link", "python", "simulator", "mismatch", "profile")
    )
)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_explains_itself(rule: Rule) -> None:
    assert rule.code[:3].isalpha()
    assert rule.code[:3].isupper()
    assert len(rule.code) == 6
    assert rule.code[3:].isdigit()
    assert rule.name == rule.name.lower().replace(" ", "-")
    for text in (rule.summary, rule.why, rule.guards):
        assert len(text) > 20
        assert text.rstrip().endswith((".", "!", "?"))


@pytest.mark.parametrize(("code", "kind", "index"), EXAMPLES)
def test_examples(code: str, kind: str, index: int) -> None:
    rule = all_rules()[code]
    example = each(code, kind)[index]
    findings = list(rule.check(parse(example.code), example.context))
    assert {finding.rule for finding in findings} <= {code}
    assert bool(findings) == (kind == "Bad"), [finding.message for finding in findings]


@pytest.mark.parametrize(("code", "kind", "index"), EXAMPLES)
def test_places_are_real_and_fixes_apply(code: str, kind: str, index: int) -> None:
    rule = all_rules()[code]
    example = each(code, kind)[index]
    lines = example.code.count("\n") + 1
    for finding in rule.check(parse(example.code), example.context):
        if finding.place is not None and finding.place.language != "text":
            assert 1 <= finding.place.line <= finding.place.end_line <= lines
        for fix in finding.fixes:
            assert apply(example.code, fix.edits) != example.code


@pytest.mark.parametrize(
    ("code", "index"), [(code, index) for code, kind, index in EXAMPLES if kind == "Bad"]
)
def test_certain_fixes_settle(code: str, index: int) -> None:
    rule = all_rules()[code]
    example = each(code, "Bad")[index]
    found = [one.message for one in rule.check(parse(example.code), example.context)]
    for finding in rule.check(parse(example.code), example.context):
        for fix in finding.fixes:
            if fix.certain:
                fixed = parse(apply(example.code, fix.edits))
                left = [one.message for one in rule.check(fixed, Context())]
                assert len(left) < len(found)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_survives_truncation(rule: Rule) -> None:
    for example in (*each(rule.code, "Bad"), *each(rule.code, "Good")):
        step = max(1, len(example.code) // 12)
        for end in range(0, len(example.code), step):
            list(rule.check(parse(example.code[:end]), example.context))
            list(rule.check(parse(example.code[end:]), NOISE))


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(EXAMPLES), st.integers(0, 4000), st.integers(0, 200), st.text(max_size=20))
def test_survives_mutation(which: tuple[str, str, int], at: int, cut: int, text: str) -> None:
    code, kind, index = which
    rule = all_rules()[code]
    example = each(code, kind)[index]
    at %= len(example.code)
    mutated = example.code[:at] + text + example.code[at + cut :]
    source = parse(mutated)
    for other in RULES[:: max(1, len(RULES) // 12)]:
        list(other.check(source, example.context))
    list(rule.check(source, NOISE))
