"""The first sentence of a review: the verdict, in the words of the finding that matters most."""

from __future__ import annotations

from collections.abc import Sequence, Set

from grader.records import Finding, Verdict

_TOLD_BY = {
    "build_failed": frozenset({"compiler", "ptxas", "python", "link"}),
    "crashed": frozenset({"python"}),
}
"""The kinds of evidence that show why a program got no further."""
_SAID = {"build_failed": "The build fails", "crashed": "It builds, but raises"}
_UNSEEN = ("SYN", "RED", "MEM")
"""Families whose defects need not show in the numbers."""


def headline(verdict: Verdict, findings: Sequence[Finding]) -> Verdict:
    """Return the verdict, said by the first proven finding that explains why the build fails or Python raises.

    A tool's own first message stays where no rule explains it, and among the reasons. A right result with a proven
    defect in it is not called right without a word of that.
    """
    if verdict.status == "correct" and verdict.general is not False:
        return _right_by_luck(verdict, findings)
    kinds = _TOLD_BY.get(verdict.status, frozenset())
    told = next((one for one in findings if _explains(one, kinds)), None)
    if told is None:
        return verdict
    at = f"line {told.place.line}: " if told.place else ""
    sentence = f"{_SAID[verdict.status]}: {at}{told.message.rstrip('.')}."
    reasons = (verdict.sentence, *verdict.reasons)
    return verdict.model_copy(update={"sentence": sentence, "reasons": reasons})


def _right_by_luck(verdict: Verdict, findings: Sequence[Finding]) -> Verdict:
    unseen = next((one for one in findings if _proven(one) and one.rule.startswith(_UNSEEN)), None)
    if unseen is None:
        return verdict
    at = f" at line {unseen.place.line}" if unseen.place else ""
    right, defect = verdict.sentence.rstrip("."), unseen.message.rstrip(".")
    return verdict.model_copy(update={"sentence": f"{right}, and yet wrong{at}: {defect}."})


def _proven(finding: Finding) -> bool:
    return finding.severity == "error" and finding.confidence == "proven" and not finding.after_mend


def _explains(finding: Finding, kinds: Set[str]) -> bool:
    """Whether a finding says why, in other words than the tool's own."""
    told = [item.text.rstrip(".") for item in finding.evidence if item.kind in kinds]
    return _proven(finding) and bool(told) and finding.message.rstrip(".") not in told
