"""Where a defect is that only its consequences were seen of: at the line that its verified fix changes."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from typing import Literal

from grader.records import Finding, Place, Repair, Submission
from grader.source import parse

_WRONG = ("NUM001", "DEP001", "DEP002", "DEP003", "DEP005")
"""Rules that see a wrong result alone: once a fix says which line makes it, they have nothing to add."""
VAGUE = (*_WRONG, "MEM008", "MEM011")
"""Rules that see a wrong result or access, and not what causes it."""


_LINE = re.compile(r"line (\d+): `")
"""How a small change's label begins: with its line in the program as it was fixed so far."""


def locate_by_repairs(
    findings: tuple[Finding, ...], submission: Submission, repairs: Sequence[Repair]
) -> tuple[Finding, ...]:
    """Return the findings, those without a cause of their own placed at the one line that fixes them."""
    fix = next((repair for repair in repairs if repair.kind == "fix"), None)
    settled = [(rule, label) for rule, label in fix.settles if rule in VAGUE] if fix else []
    if fix is None or len(settled) != 1:
        return findings
    ((rule, label),) = settled
    change = _change(submission.code, fix.code, label)
    if change is None:
        return findings
    return tuple(
        _place_finding(item, submission, *change) if item.rule == rule else item
        for item in findings
    )


def _change(old: str, new: str, label: str) -> tuple[int, str, str] | None:
    """Return line, old and new text of what a label says, where it changes lines for others; else None.

    Where that is all that the fix changes, the label need not say which. Among several it names the
    line in a text between both, in which only some of the changes were made.
    """
    before, after = old.splitlines(), new.splitlines()
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    changes = [code for code in matcher.get_opcodes() if code[0] != "equal"]
    said = _LINE.match(label)
    number = int(said[1]) if said else 0
    if len(changes) > 1:
        changes = [
            code for code in changes if min(code[1], code[3]) < number <= max(code[2], code[4])
        ]
    if len(changes) != 1 or changes[0][0] != "replace":
        return None
    _, i1, i2, j1, j2 = changes[0]
    if i2 - i1 == j2 - j1 == 1:
        return i1 + 1, before[i1], after[j1]
    one_stretch = (
        i1 == j1 and i2 == j2 and i1 < number <= i2
    )  # what is done at its first line goes on
    return (number, before[number - 1], after[number - 1]) if one_stretch else None


def _place_finding(
    finding: Finding, submission: Submission, line: int, old: str, new: str
) -> Finding:
    there = finding.place is not None and finding.place.line == line
    if there and finding.rule not in _WRONG:
        return finding
    column = len(old) - len(old.lstrip())
    place = Place(
        line=line,
        end_line=line,
        column=column,
        end_column=len(old),
        sample_line=submission.sample_line(line),
        language=_language(submission.code, line),
        excerpt=old.strip()[:200],
    )
    right = f"has to be `{new.strip()[:120]}`"
    said = f"this line makes the result wrong: it {right}"
    if finding.rule not in _WRONG:
        said = f"{finding.message.rstrip('.')}; line {line} is the cause, and {right}"
    return finding.model_copy(update={"place": place, "message": said})


def _language(code: str, line: int) -> Literal["python", "cuda"]:
    """Return what a line of a submission is written in."""
    source = parse(code)
    inside = (
        unit.place_line(1).line <= line <= unit.place_line(len(unit.lines)).line
        for unit in source.cuda
    )
    return "cuda" if any(inside) or source.python is None else "python"
