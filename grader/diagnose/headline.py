"""The sentence of a failed build, in the words of the finding that explains it."""

from __future__ import annotations

from collections.abc import Sequence

from grader.records import Finding, Verdict

_OF_A_BUILD = frozenset({"compiler", "ptxas", "python", "link"})
_UNEXPLAINED = "BLD015"
"""The rule that passes on a compiler's message as it is."""


def headline(verdict: Verdict, findings: Sequence[Finding]) -> Verdict:
    """Return the verdict, said by the first proven finding that explains why the build fails.

    A compiler's own first message stays where no rule explains it, and among the reasons.
    """
    told = next((one for one in findings if _explains(one)), None)
    if verdict.status != "build_failed" or told is None:
        return verdict
    at = f"line {told.place.line}: " if told.place else ""
    sentence = f"The build fails: {at}{told.message.rstrip('.')}."
    reasons = (verdict.sentence, *verdict.reasons)
    return verdict.model_copy(update={"sentence": sentence, "reasons": reasons})


def _explains(finding: Finding) -> bool:
    return (
        finding.severity == "error"
        and finding.confidence == "proven"
        and finding.rule != _UNEXPLAINED
        and not finding.after_mend
        and any(item.kind in _OF_A_BUILD for item in finding.evidence)
    )
