"""A rule that fails, or a text that takes too long, ends as a sentence, never as an exception."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import replace
from types import MappingProxyType

import pytest

from grader.records import Context, Finding
from grader.rules import all_rules, engine
from grader.rules.rule import Rule
from grader.source import Source, parse


def a_rule(code: str, failing: bool = False) -> Rule:
    def check(_source: Source, _context: Context) -> Iterator[Finding]:
        if failing:
            raise RecursionError("too deep")
        yield rule.finding(None, f"found by {code}")

    rule = replace(all_rules()["SYN001"], code=code, name=code.lower(), check=check)
    return rule


def inspect(monkeypatch: pytest.MonkeyPatch, *rules: Rule) -> engine.Inspection:
    table = MappingProxyType({rule.code: rule for rule in rules})
    monkeypatch.setattr(engine, "all_rules", lambda: table)
    return engine.detect(parse("x = 1\n"), Context())


def test_a_rule_that_raises_is_named_and_the_others_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    found = inspect(monkeypatch, a_rule("AAA001", failing=True), a_rule("SYN901"))
    assert [one.rule for one in found.findings] == ["SYN901"]
    assert found.trouble == ("rule AAA001 failed: RecursionError: too deep",)


def test_without_time_the_rest_is_left_out_and_cheats_are_looked_for_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    late = iter((False, True))
    monkeypatch.setattr(engine, "deadline", lambda _limit: nullcontext(lambda: next(late)))
    found = inspect(monkeypatch, a_rule("AAA001"), a_rule("SEC901"), a_rule("SYN901"))
    assert [one.rule for one in found.findings] == ["SEC901"]
    (said,) = found.trouble
    assert "the rules from AAA001 on did not run" in said
