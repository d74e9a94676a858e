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


def headline(verdict: Verdict, findings: Sequence[Finding]) -> Verdict:
    """Return the verdict, said by the first proven finding that explains why the build fails or Python raises.

    A tool's own first message stays where no rule explains it, and among the reasons.
    """
    kinds = _TOLD_BY.get(verdict.status, frozenset())
    told = next((one for one in findings if _explains(one, kinds)), None)
    if told is None:
        return verdict
    at = f"line {told.place.line}: " if told.place else ""
    sentence = f"{_SAID[verdict.status]}: {at}{told.message.rstrip('.')}."
    reasons = (verdict.sentence, *verdict.reasons)
    return verdict.model_copy(update={"sentence": sentence, "reasons": reasons})


def _proven(finding: Finding) -> bool:
    return finding.severity == "error" and finding.confidence == "proven" and not finding.after_fix


def _explains(finding: Finding, kinds: Set[str]) -> bool:
    """Whether a finding says why, in other words than the tool's own."""
    told = [item.text.rstrip(".") for item in finding.evidence if item.kind in kinds]
    return _proven(finding) and bool(told) and finding.message.rstrip(".") not in told
