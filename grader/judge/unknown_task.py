"""The verdict on a program with an unknown task: its values are not judged, the behaviour of its runs is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from grader.judge import sentences, soundness
from grader.judge.seen import FATAL
from grader.judge.soundness import at_line
from grader.records import Build, Evidence, Run, Verdict

ENDS_BADLY = frozenset(FATAL) - {"grader_error"}
NOT_JUDGED = "No task was found that it answers, so its values are not judged"
REFUSED: Mapping[str, str] = {
    "launch-error": "a launch is refused",
    "launch-error-unseen": "a launch is refused",
    "host-memory": "a kernel is given memory of the CPU",
    "null-pointer": "a kernel is given a null pointer",
    "host-access": "the CPU touches memory of the GPU",
}
"""Host-side faults that keep kernels from running, by the evidence's code, in plain words."""


def verdict_without_values(
    build: Build | None, runs: Sequence[Run], checked: Sequence[Run], probes: Sequence[Evidence]
) -> Verdict:
    """Return `no_task`, with the end of runs on the program's own inputs; undefined behaviour in them gives the reasons."""
    examined = (*runs, *checked)
    proofs = soundness.proofs(examined, probes, {run.workload for run in examined})
    faults = (*_refusal_sentences(examined), *map(soundness.brief, proofs))
    return Verdict(
        status="no_task",
        sentence=_sentence(runs, faults) if runs else sentences.without_task(build, ""),
        compiled=None if build is None else build.status == "built",
        reasons=faults,
        unhurt=_unhurt(build, runs, faults),
    )


def _refusal_sentences(runs: Sequence[Run]) -> tuple[str, ...]:
    found = (item for run in runs for item in run.evidence if item.code in REFUSED)
    said = (f"{at_line(one)}{REFUSED[one.code]}: {one.text.rstrip('.')}" for one in found)
    return tuple(dict.fromkeys(said))


def _sentence(runs: Sequence[Run], faults: Sequence[str]) -> str:
    ended = next((run for run in runs if run.status != "ran"), None)
    if ended is not None:
        return f"{NOT_JUDGED}; on {ended.workload} it {sentences.say_ended(ended)}"
    said = "shows undefined behaviour" if faults else "runs without a fault"
    return f"{NOT_JUDGED}; on {runs[0].workload} it {said}"


def _unhurt(build: Build | None, runs: Sequence[Run], faults: Sequence[str]) -> bool | None:
    """Return whether its runs show no fault; None where they did not complete."""
    failed = build is not None and build.status == "failed"
    if faults or failed or any(run.status in ENDS_BADLY for run in runs):
        return False
    return True if runs and all(run.status == "ran" for run in runs) else None
