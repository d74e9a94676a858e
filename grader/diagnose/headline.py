"""The first sentence of a review: the cause in the words of the finding that proves it, followed by numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from grader.judge.soundness import UNDEFINED
from grader.records import Evidence, EvidenceKind, Finding, Status, Verdict


class _Shown(NamedTuple):
    """Evidence that explains a program's status: of one of these kinds, and of these codes if given."""

    kinds: frozenset[EvidenceKind]
    codes: frozenset[str] = frozenset()

    def is_by(self, item: Evidence) -> bool:
        return item.kind in self.kinds and (not self.codes or item.code in self.codes)


_TOOLS: frozenset[EvidenceKind] = frozenset({"compiler", "ptxas", "python", "link"})
_RUNS: frozenset[EvidenceKind] = frozenset({"simulator", "sanitizer", "probe"})
_ENDLESS = frozenset({"deadlock", "grid-deadlock", "livelock", "barrier-divergence"})
_STOPS = frozenset(
    {"out-of-bounds", "use-after-free", "misaligned", "trap", "assert", "stack-overflow"}
    | {"launch-error", "launch-error-unseen", "host-memory", "null-pointer", "host-access"}
)
_CAUSES: Mapping[Status, tuple[_Shown, ...]] = {
    "build_failed": (_Shown(_TOOLS),),
    "crashed": (_Shown(frozenset({"python"})), _Shown(_RUNS, _STOPS)),
    "hung": (_Shown(_RUNS, _ENDLESS),),
    "timeout": (_Shown(_RUNS, _ENDLESS | _STOPS),),
    "incorrect": (
        _Shown(frozenset({"mismatch"})),
        _Shown(_RUNS),
        _Shown(frozenset({"provenance"})),
    ),
    "unsound": (_Shown(_RUNS, frozenset(UNDEFINED)),),
    "no_task": (
        _Shown(_TOOLS),
        _Shown(_RUNS, _ENDLESS | _STOPS),
        _Shown(_RUNS, frozenset(UNDEFINED)),
    ),
}
"""Evidence of the cause, by the program's status; the most specific first."""


RUNS_SHOW_MORE = "races, barriers, accesses out of bounds and refused launches show in runs alone; `--device sim` needs no GPU"
"""Note on a program that was not run."""
_BY_VALUES: frozenset[Status] = frozenset({"incorrect", "crashed", "hung", "unsound", "no_task"})
"""Statuses whose cause a fix shows, when that change alone makes the program right."""


def headline(
    verdict: Verdict,
    findings: Sequence[Finding],
    settled: Collection[str] = (),
    elsewhere: Collection[str] = (),
    *,
    read_only: bool = False,
) -> Verdict:
    """Return the verdict with the sentence of the error that explains it; its own sentence becomes the second.

    The explaining error is one that a verified fix settles (`settled`: codes of rules), or else a proven one; without
    these an unproven one may explain wrong values. An error that shows only on workloads that don't decide
    (`elsewhere`: their names) can only explain why a right program is not general. Where none does, the sentence stays.
    Where nothing was asked to run (`read_only`), it says what the text shows.
    """
    if read_only and verdict.status == "not_run":
        return _verdict_of_text(verdict, findings)
    if read_only and verdict.status == "no_task":
        return verdict.model_copy(update={"reasons": (*verdict.reasons, RUNS_SHOW_MORE)})
    if verdict.status == "correct":
        return _not_general(verdict, findings, elsewhere)
    deciding = [one for one in findings if one.rule in settled or not _only(elsewhere, one)]
    cause = _cause(verdict, deciding, settled)
    if cause is None:
        return verdict
    cause = next(at for at, one in enumerate(findings) if one is deciding[cause])
    # An unsound program's reasons already contain its sentence.
    said = () if verdict.status == "unsound" else (verdict.sentence,)
    sentence = _sentence(findings[cause], likely=not _sure(findings[cause], settled))
    reasons = (*said, *verdict.reasons)
    return verdict.model_copy(update={"sentence": sentence, "reasons": reasons, "cause": cause})


def _only(names: Collection[str], finding: Finding) -> bool:
    """Whether all its evidence is from these workloads."""
    seen = {item.workload for item in finding.evidence if item.workload}
    return bool(seen) and seen <= set(names)


def _not_general(
    verdict: Verdict, findings: Sequence[Finding], elsewhere: Collection[str]
) -> Verdict:
    """Return the verdict of a right program, with its failure at other sizes as the cause."""
    if verdict.general is not False:
        return verdict
    for position, one in enumerate(findings):
        proven = one.confidence == "proven" and one.severity != "note" and not one.after_fix
        if proven and _only(elsewhere, one):
            said = _sentence(one, likely=False)
            return verdict.model_copy(
                update={
                    "sentence": f"Correct at the sizes that decide, but not at others. {said}",
                    "reasons": (verdict.sentence, *verdict.reasons),
                    "cause": position,
                }
            )
    return verdict


def _cause(verdict: Verdict, findings: Sequence[Finding], settled: Collection[str]) -> int | None:
    """Return the position of the finding that explains the verdict in more than a tool's own words."""
    errors = {at: one for at, one in enumerate(findings) if _counts(one)}
    if verdict.status in _BY_VALUES:
        mine = {at: one for at, one in errors.items() if one.rule in settled}
        found = _position_of_best_proof(verdict, mine)
        if found is not None or mine:
            return found if found is not None else min(mine)
    found = _position_of_best_proof(verdict, errors)
    if found is None and verdict.status == "incorrect":
        return next((at for at, one in errors.items() if not one.last_resort), None)
    return found


def _position_of_best_proof(verdict: Verdict, errors: Mapping[int, Finding]) -> int | None:
    """Return the position of the first proven error with the most specific evidence."""
    for shown in _CAUSES.get(verdict.status, ()):
        for position, one in errors.items():
            if one.confidence == "proven" and any(map(shown.is_by, one.evidence)):
                return position
    return None


def _counts(finding: Finding) -> bool:
    """Whether it is an error of the original program, in more than a tool's own words."""
    return finding.severity == "error" and not finding.after_fix and not _echoes(finding)


def _sure(finding: Finding, settled: Collection[str]) -> bool:
    return finding.confidence == "proven" or finding.rule in settled


def _echoes(finding: Finding) -> bool:
    """Whether a finding only repeats a tool's output, as the verdict's own sentence already does."""
    printed = {item.text.rstrip(".") for item in finding.evidence if item.kind in _TOOLS}
    return finding.message.rstrip(".") in printed


def _sentence(finding: Finding, *, likely: bool) -> str:
    said = finding.message.rstrip(".") + _seen_on(finding)
    if finding.place is not None and not said.startswith(f"line {finding.place.line} "):
        return f"Line {finding.place.line}{', most likely' if likely else ''}: {said}."
    return f"{said[:1].upper()}{said[1:]}."


def _seen_on(finding: Finding) -> str:
    """Return the other device that showed it, in brackets; empty where this one did."""
    devices = {item.device for item in finding.evidence}
    return f" (seen on {', '.join(sorted(devices))})" if devices and "" not in devices else ""


def _verdict_of_text(verdict: Verdict, findings: Sequence[Finding]) -> Verdict:
    """Return the verdict of a program that was not run: the findings in its text, then the reason."""
    found = Counter(one.severity for one in findings if not one.after_fix)
    parts = [
        f"{found[level]} {level}{'s' if found[level] > 1 else ''}"
        for level in ("error", "warning")
        if found[level]
    ]
    said = f"{' and '.join(parts)} in its text" if parts else "no error or warning in its text"
    reasons = (verdict.sentence, *verdict.reasons, RUNS_SHOW_MORE)
    return verdict.model_copy(update={"sentence": f"Read, not run: {said}.", "reasons": reasons})
