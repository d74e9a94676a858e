"""The verdict on a program whose task nobody knows: its values are not judged, what its runs do is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from grader.judge import sentences, soundness
from grader.judge.seen import FATAL
from grader.records import Build, Evidence, Run, Verdict

ENDS_BADLY = frozenset(FATAL) - {"grader_error"}
REFUSED: Mapping[str, str] = {
    "launch-error": "a launch is refused",
    "launch-error-unseen": "a launch is refused",
    "host-memory": "a kernel is given memory of the CPU",
    "null-pointer": "a kernel is given a null pointer",
    "host-access": "the CPU touches memory of the GPU",
}
"""What stands around kernels and keeps them from their work, by the evidence's code, in plain words."""


def verdict_without_values(
    build: Build | None, runs: Sequence[Run], checked: Sequence[Run], probes: Sequence[Evidence]
) -> Verdict:
    """Return `no_task`, with how a program that ran on inputs of its own ended there, and what its runs prove."""
    examined = (*runs, *checked)
    proofs = soundness.proofs(examined, probes, {run.workload for run in examined})
    ended = [f"on {r.workload} it {sentences.say_ended(r)}" for r in runs if r.status in ENDS_BADLY]
    refused = [one for run in examined for one in run.evidence if one.code in REFUSED]
    said = (
        *ended,
        *dict.fromkeys(
            f"{soundness.at_line(one)}{REFUSED[one.code]}: {one.text.rstrip('.')}"
            for one in refused
        ),
        *map(soundness.brief, proofs),
    )
    ran = f"it runs on inputs of its own ({runs[0].workload})" if _all_ran(runs) else ""
    seen = next(iter(said), ran)
    about = sentences.without_task(build, "")
    return Verdict(
        status="no_task",
        sentence=f"{about}, and {seen}; its values are not judged." if seen else about,
        compiled=None if build is None else build.status == "built",
        reasons=said[1:],
        unhurt=_unhurt(build, runs, said),
    )


def _unhurt(build: Build | None, runs: Sequence[Run], said: Sequence[str]) -> bool | None:
    """Return whether nothing speaks against it; None where it was not run to the end."""
    if said or (build is not None and build.status == "failed"):
        return False
    return True if _all_ran(runs) else None


def _all_ran(runs: Sequence[Run]) -> bool:
    return bool(runs) and all(run.status == "ran" for run in runs)
