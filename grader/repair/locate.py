"""Where a defect is that only its consequences were seen of: at the line that its verified mend changes."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from grader.records import Finding, Place, Repair, Submission

VAGUE = ("NUM001", "MEM008", "MEM011")
"""Rules that see a wrong result or access, and not what causes it."""


def located(
    findings: tuple[Finding, ...], submission: Submission, repairs: Sequence[Repair]
) -> tuple[Finding, ...]:
    """Return the findings, those without a cause of their own placed at the one change that mends them."""
    mends = [repair for repair in repairs if repair.kind == "mend"]
    change = _only_change(submission.code, mends[0].code) if mends else None
    if change is None:
        return findings
    settled = {rule for rule, _ in mends[0].settles} & set(VAGUE)
    return tuple(
        _placed(item, submission, *change) if item.rule in settled else item for item in findings
    )


def _only_change(old: str, new: str) -> tuple[int, str, str] | None:
    """Return line, old and new text where one line was changed for another; None for anything larger."""
    before, after = old.splitlines(), new.splitlines()
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    changes = [code for code in matcher.get_opcodes() if code[0] != "equal"]
    if len(changes) != 1 or changes[0][0] != "replace":
        return None
    _, i1, i2, j1, j2 = changes[0]
    return (i1 + 1, before[i1], after[j1]) if i2 - i1 == j2 - j1 == 1 else None


def _placed(finding: Finding, submission: Submission, line: int, old: str, new: str) -> Finding:
    if finding.place is not None and finding.place.line == line:
        return finding
    column = len(old) - len(old.lstrip())
    place = Place(
        line=line,
        end_line=line,
        column=column,
        end_column=len(old),
        sample_line=submission.sample_line(line),
        language="cuda",
        excerpt=old.strip()[:200],
    )
    said = f"{finding.message} The verified mend changes line {line}: `{new.strip()[:120]}`."
    return finding.model_copy(update={"place": place, "message": said})
