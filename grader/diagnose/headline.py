"""The first sentence of a review: the cause in the words of the finding that proves it; numbers come second."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from grader.judge.soundness import UNDEFINED
from grader.records import Evidence, EvidenceKind, Finding, Status, Verdict


class _Shown(NamedTuple):
    """Evidence that shows why a program ended as it did: of one of these kinds, and these codes where any are named."""

    kinds: frozenset[EvidenceKind]
    codes: frozenset[str] = frozenset()

    def by(self, item: Evidence) -> bool:
        return item.kind in self.kinds and (not self.codes or item.code in self.codes)


_TOOLS: frozenset[EvidenceKind] = frozenset({"compiler", "ptxas", "python", "link"})
_RUNS: frozenset[EvidenceKind] = frozenset({"simulator", "sanitizer", "probe"})
_ENDLESS = frozenset({"deadlock", "grid-deadlock", "livelock", "barrier-divergence"})
_STOPS = frozenset(
    {"out-of-bounds", "use-after-free", "misaligned", "trap", "assert", "stack-overflow"}
    | {"launch-error", "host-memory", "null-pointer", "host-access"}
)
_CAUSES: Mapping[Status, tuple[_Shown, ...]] = {
    "build_failed": (_Shown(_TOOLS),),
    "crashed": (_Shown(frozenset({"python"})), _Shown(_RUNS, _STOPS)),
    "hung": (_Shown(_RUNS, _ENDLESS),),
    "incorrect": (
        _Shown(frozenset({"mismatch"})),
        _Shown(_RUNS),
        _Shown(frozenset({"provenance"})),
    ),
    "unsound": (_Shown(_RUNS, frozenset(UNDEFINED)),),
}
"""What shows the cause, by how the program ended; what says most first."""


def headline(verdict: Verdict, findings: Sequence[Finding], *, read_only: bool = False) -> Verdict:
    """Return the verdict, said by the first proven error that explains it; its own sentence becomes the second.

    Where no finding explains it, the sentence stays. Where nothing was asked to run (`read_only`), it says what
    the text shows.
    """
    if read_only and verdict.status == "not_run":
        return _read(verdict, findings)
    cause = _cause(verdict, findings)
    if cause is None:
        return verdict
    # An unsound program's reasons hold what its sentence says already.
    said = () if verdict.status == "unsound" else (verdict.sentence,)
    sentence = _sentence(findings[cause])
    reasons = (*said, *verdict.reasons)
    return verdict.model_copy(update={"sentence": sentence, "reasons": reasons, "cause": cause})


def _cause(verdict: Verdict, findings: Sequence[Finding]) -> int | None:
    """Return the position of the finding that says why, in other words than a tool's own."""
    for shown in _CAUSES.get(verdict.status, ()):
        for position, one in enumerate(findings):
            if _proven(one) and not _echoes(one) and any(map(shown.by, one.evidence)):
                return position
    return None


def _proven(finding: Finding) -> bool:
    return finding.severity == "error" and finding.confidence == "proven" and not finding.after_fix


def _echoes(finding: Finding) -> bool:
    """Whether a finding repeats what a tool printed, which the verdict's own sentence does already."""
    printed = {item.text.rstrip(".") for item in finding.evidence if item.kind in _TOOLS}
    return finding.message.rstrip(".") in printed


def _sentence(finding: Finding) -> str:
    said = finding.message.rstrip(".") + _seen_on(finding)
    if finding.place is not None and not said.startswith(f"line {finding.place.line} "):
        return f"Line {finding.place.line}: {said}."
    return f"{said[:1].upper()}{said[1:]}."


def _seen_on(finding: Finding) -> str:
    """Return which other device showed it, in brackets; nothing where this one did."""
    devices = {item.device for item in finding.evidence}
    return f" (seen on {', '.join(sorted(devices))})" if devices and "" not in devices else ""


def _read(verdict: Verdict, findings: Sequence[Finding]) -> Verdict:
    """Return the verdict of a text that was read: what was found in it, before why it was not run."""
    found = Counter(one.severity for one in findings if not one.after_fix)
    parts = [
        f"{found[level]} {level}{'s' if found[level] > 1 else ''}"
        for level in ("error", "warning")
        if found[level]
    ]
    said = f"{' and '.join(parts)} in its text" if parts else "no error or warning in its text"
    reasons = (verdict.sentence, *verdict.reasons)
    return verdict.model_copy(update={"sentence": f"Read, not run: {said}.", "reasons": reasons})
