"""Codes of rules that became part of others still mean something."""

from __future__ import annotations

from grader.rules import all_rules
from grader.rules.engine import choose_rules
from grader.rules.page import page
from grader.rules.registry import rule


def test_a_former_code_selects_and_explains_the_rule_that_has_it_now() -> None:
    assert rule("RED003").code == "RED002"
    assert [one.code for one in choose_rules(all_rules().values(), ("mem006",), ())] == ["IDX006"]
    assert "- formerly: RED001, RED003" in page(rule("RED002"))


def test_a_code_means_one_rule() -> None:
    codes = [code for one in all_rules().values() for code in one.codes]
    assert len(codes) == len(set(codes))
