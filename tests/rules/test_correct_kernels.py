"""Correct kernels of many styles: no error and no warning, but for honest ones about speed."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.records import Context, Finding
from grader.rules import all_rules
from grader.source import parse
from tests.rules.examples import as_submission

KERNELS = sorted((Path(__file__).parent / "kernels").glob("*.cu"))
FAMILIES = ("SYN", "RED", "MEM", "IDX", "NUM", "PRF")


def review(code: str, context: Context | None = None) -> list[Finding]:
    source = parse(as_submission(code))
    return [
        finding
        for rule in all_rules().values()
        if rule.code.startswith(FAMILIES)
        for finding in rule.check(source, context or Context())
    ]


@pytest.mark.parametrize("path", KERNELS, ids=lambda path: path.stem)
def test_nothing_wrong_is_said(path: Path) -> None:
    wrong = [
        f"{f.rule} line {f.place.line if f.place else '?'}: {f.message}"
        for f in review(path.read_text())
        if f.severity != "note" and not f.rule.startswith("PRF")
    ]
    assert not wrong


def test_there_are_many_styles() -> None:
    assert len(KERNELS) >= 35
