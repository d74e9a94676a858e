"""Where a submission stands: the first stage it failed at, or correct; in one sentence."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from grader.judge.conduct import idle, liberties, unsteady
from grader.judge.honesty import computing
from grader.judge.own_weights import OWN_WEIGHTS
from grader.records import (
    DECIDING,
    Build,
    Comparison,
    Evidence,
    Run,
    RunStatus,
    Status,
    Task,
    Verdict,
    Workload,
)

SENTENCE = 500
"""Characters of a submission's own words that a sentence repeats."""
_FATAL: Mapping[RunStatus, Status] = {
    "grader_error": "grader_error",
    "raised": "crashed",
    "crashed": "crashed",
    "out_of_memory": "crashed",
    "hung": "hung",
}
"""A run that ended so settles the verdict, in this order, whatever other runs gave."""
_OPEN: Mapping[RunStatus, Status] = {"timeout": "timeout", "not_run": "not_run"}
"""A run that ended so settles it only where no other run shows a wrong result."""


@dataclass(frozen=True)
class _Around:
    """What the verdict hangs on besides build, runs and comparisons."""

    task: Task | None
    no_code: str
    no_task: str
    no_device: str
    rejected: tuple[str, ...]


def verdict(
    *,
    task: Task | None,
    build: Build | None,
    runs: Sequence[Run] = (),
    comparisons: Sequence[Comparison] = (),
    shapes: Literal["nominal", "any"] = "nominal",
    no_device: str = "",
    no_code: str = "",
    no_task: str = "",
    rejected: tuple[str, ...] = (),
    dishonest: tuple[str, ...] = (),
    probes: Sequence[Evidence] = (),
) -> Verdict:
    """Return the verdict: the first stage that failed, in the order of `Status`.

    `nominal` and `stress` workloads decide `correct`, `general` ones decide `general` (and with
    shapes "any" also `correct`); where the reference itself is NaN or infinite nothing hangs on a
    workload. `no_device`, `no_code` and `no_task` say why there is none, `rejected` how it cheats
    by construction, `dishonest` what it was seen doing to look better than it is, `probes` what it
    does beside the values of one call.
    """
    around = _Around(task, no_code, no_task, no_device, rejected)
    early = _before_the_runs(build, around)
    if early is not None:
        return early
    seen = _Seen(task, runs, comparisons)
    seen.own_weights = any(probe.code == OWN_WEIGHTS for probe in probes)
    found = _own_work(_steady(_of_the_runs(seen), seen, probes), runs)
    later = unsteady(probes, roles=seen.roles, general=True)
    general = False if later else seen.general()
    taken = liberties(probes)
    more = filter(None, (later, idle(probes)))
    reasons = (*found.reasons, *taken, *more, *seen.remarks())
    status, sentence = found.status, found.sentence
    if status == "correct" and general is False and shapes == "any":
        status, sentence = "incorrect", f"Incorrect at other sizes: {later or seen.first_general()}"
    if status == "correct" and dishonest:
        status, sentence = "dishonest", f"Dishonest: {dishonest[0]}"
    return Verdict(
        status=status,
        sentence=sentence,
        compiled=_compiled(build),
        correct=_CORRECT.get(status),
        general=(general and not taken) if found.status == "correct" else None,
        honest=not dishonest if runs else None,
        reasons=(*dishonest, *reasons),
        kernelbench=seen.kernelbench(),
    )


@dataclass(frozen=True)
class _Found:
    status: Status
    sentence: str
    reasons: tuple[str, ...] = ()


def _steady(found: _Found, seen: _Seen, probes: Sequence[Evidence]) -> _Found:
    """Return what was found, or that a second look did not bear it out."""
    if found.status != "correct":
        return found
    unlike = unsteady(probes, roles=seen.roles, general=False)
    if unlike:
        return _Found("incorrect", f"Incorrect: {unlike}", (unlike,))
    said = (*liberties(probes), unsteady(probes, roles=seen.roles, general=True))
    if not any(said) or seen.general() is False:
        return found
    return replace(found, sentence=f"{found.sentence.rstrip('.')}, but {said[0]}.")


def _own_work(found: _Found, runs: Sequence[Run]) -> _Found:
    """Return what was found, with the remark that torch did it all where the simulator saw that."""
    on_sim = all(run.device == "sim" for run in runs)
    if found.status != "correct" or not on_sim or any(run.launches for run in runs):
        return found
    if not computing(runs):
        return found
    said = "no kernel of its own ran: torch computed the result"
    return replace(found, sentence=f"{found.sentence.rstrip('.')}; {said}.")


_CORRECT: Mapping[Status, bool] = {
    "correct": True,
    "dishonest": False,
    "incorrect": False,
    "crashed": False,
    "hung": False,
}
"""What is known of the result; nothing for the other words."""


def _compiled(build: Build | None) -> bool | None:
    if build is None or build.status == "grader_error":
        return None
    return build.status == "built"


def _before_the_runs(build: Build | None, around: _Around) -> Verdict | None:
    """Return the verdict of what never got as far as a run that counts."""
    compiled = _compiled(build)

    def made(status: Status, sentence: str, *, honest: bool | None = None) -> Verdict:
        return Verdict(
            status=status,
            sentence=sentence,
            compiled=compiled,
            correct=False if status == "rejected" else None,
            honest=honest,
            reasons=around.rejected,
        )

    if around.no_code:
        return made("no_code", f"No code: {around.no_code}")
    if not _askable(around.task) and not _broken(build):
        notes = around.task.notes if around.task else ()
        return made("no_task", _without_task(build, around.no_task or "; ".join(notes)))
    if around.rejected:
        return made("rejected", f"Rejected: {around.rejected[0]}", honest=False)
    return _without_runs(build, around.no_device)


def _askable(task: Task | None) -> bool:
    """Whether there is a task, and something to run: a problem's own text may be broken."""
    return task is not None and bool(task.workloads)


def _broken(build: Build | None) -> bool:
    return build is not None and build.status == "grader_error"


def _without_runs(build: Build | None, no_device: str) -> Verdict | None:
    if build is None:
        why = no_device or "there is no device to build for"
        return Verdict(status="not_run", sentence=f"It was neither built nor run: {why}.")
    if build.status == "grader_error":
        text = f"The grader failed, not the submission: {build.reason}"
        return Verdict(status="grader_error", sentence=text)
    if build.status != "built":
        return _build_verdict(build)
    if no_device:
        text = f"It builds, and was not run: {no_device}"
        return Verdict(status="not_run", sentence=text, compiled=True)
    return None


def _without_task(build: Build | None, why: str) -> str:
    say = f"No task was found that it answers{f': {why}' if why else ''}"
    if build is None:
        return say
    return f"{say}; it compiles" if build.status == "built" else f"{say}; and {_build_text(build)}"


def _build_verdict(build: Build) -> Verdict:
    status: Status = "build_timeout" if build.status == "timeout" else "build_failed"
    text = _build_text(build)
    return Verdict(
        status=status, sentence=text[:1].upper() + text[1:], compiled=False, correct=False
    )


def _build_text(build: Build) -> str:
    if build.status == "timeout":
        return (
            f"the build took too long: {build.reason}"
            if build.reason
            else "the build took too long"
        )
    first = build.errors[0] if build.errors else None
    if first is None:
        return f"the build fails: {build.reason or 'no reason was printed'}"
    at = f"line {first.place.line}: " if first.place is not None else ""
    more = f" (and {len(build.errors) - 1} more)" if len(build.errors) > 1 else ""
    return f"the build fails: {at}{first.text}{more}"


class _Seen:
    """Runs and comparisons by workload, with the workloads' roles."""

    def __init__(
        self, task: Task | None, runs: Sequence[Run], comparisons: Sequence[Comparison]
    ) -> None:
        self.weak = task.weak if task else ()
        self.named = task is not None and task.source != "builtin"
        self.workloads = {w.name: w for w in task.workloads} if task else {}
        self.runs = {run.workload: run for run in runs}
        self.comparisons = {item.workload: item for item in comparisons}
        self.own_weights = False
        """Whether it is wrong only with the weights that it draws itself."""
        self.roles = {name: workload.role for name, workload in self.workloads.items()}

    def of(self, roles: Iterable[str]) -> tuple[Workload, ...]:
        """Return the workloads of these roles that were to be run and that count."""
        wanted = frozenset(roles)
        return tuple(w for w in self.workloads.values() if w.role in wanted and self._counts(w))

    @property
    def deciding(self) -> frozenset[str]:
        """The roles that decide: with the full size, where the task itself names it.

        A built-in task's full size is KernelBench's, which may not be what this sample was asked.
        """
        return DECIDING | {"full"} if self.named else DECIDING

    def _counts(self, workload: Workload) -> bool:
        if workload.name not in self.runs or workload.reference_may_be_nonfinite:
            return False
        found = self.comparisons.get(workload.name)
        return found is None or found.counts

    def ended(self, roles: Iterable[str], status: RunStatus) -> Run | None:
        """Return the first run of these roles that ended so."""
        found = (self.runs[w.name] for w in self.of(roles))
        return next((run for run in found if run.status == status), None)

    def wrong(self, roles: Iterable[str]) -> tuple[Comparison, ...]:
        """Return the comparisons of these roles that failed."""
        found = (self.comparisons.get(w.name) for w in self.of(roles))
        return tuple(item for item in found if item is not None and not item.equal)

    def wrong_at_full_size(self) -> Comparison | None:
        """Return what is wrong at the task's own full size, by KernelBench's tolerance as well.

        Nothing but torch's float32 result is known there.
        """
        found = self.wrong(self.deciding - DECIDING)
        return next((item for item in found if not item.kernelbench_equal), None)

    def general(self) -> bool | None:
        """Return whether it is right at the other sizes; None where that was not seen."""
        others = {"general", "full"}
        if self.wrong(others) or any(self.ended(others, status) for status in _FATAL):
            return False
        if not self.of({"general"}) or any(self.ended(others, status) for status in _OPEN):
            return None
        return True

    def first_general(self) -> str:
        """Return in a few words what goes wrong at other sizes."""
        wrong = self.wrong({"general", "full"})
        if wrong:
            return f"on {wrong[0].workload}, {_mismatch(wrong[0])}"
        others = {"general", "full"}
        run = next(run for status in _FATAL if (run := self.ended(others, status)))
        return f"on {run.workload} it {_ended(run)}"

    def kernelbench(self) -> bool | None:
        """Return what KernelBench's tolerance says of the nominal workloads."""
        nominal = [self.comparisons.get(w.name) for w in self.of({"nominal"})]
        known = [item.kernelbench_equal for item in nominal if item is not None]
        return all(known) if known and None not in known else None

    def remarks(self) -> tuple[str, ...]:
        """Return what happens where nothing hangs on it."""
        return tuple(
            f"on {item.workload}: {item.note}; "
            + ("it agrees with the reference" if item.equal else _mismatch(item))
            for item in self.comparisons.values()
            if not item.counts
        )


def _of_the_runs(seen: _Seen) -> _Found:
    deciding = seen.of(DECIDING)
    if not deciding:
        return _Found("not_run", "It builds; no workload that decides was run.")
    for run_status, status in _FATAL.items():
        run = seen.ended(seen.deciding, run_status)
        if run is not None:
            return _Found(status, _fatal_text(run, seen), _all_wrong(seen))
    wrong = seen.wrong(DECIDING)
    at_full_size = seen.wrong_at_full_size()
    if not wrong and at_full_size is not None:
        return _Found("incorrect", _only_at_full_size(at_full_size), _all_wrong(seen))
    if wrong:
        sentence = _incorrect(wrong, len(deciding), own_weights=seen.own_weights)
        return _Found("incorrect", sentence, _all_wrong(seen))
    for run_status, status in _OPEN.items():
        run = seen.ended(DECIDING, run_status)
        if run is not None:
            return _Found(status, _open_text(run, seen))
    missing = [w.name for w in deciding if w.name not in seen.comparisons]
    if missing:
        return _Found("grader_error", f"The grader failed: no comparison of {missing[0]}.")
    return _Found("correct", _correct(seen, len(deciding)), _all_wrong(seen))


def _ended(run: Run) -> str:
    words: Mapping[RunStatus, str] = {
        "raised": "raises",
        "crashed": "crashes",
        "out_of_memory": "runs out of memory",
        "hung": "never ends",
        "grader_error": "could not be run",
    }
    said = " ".join(run.reason.split())
    said = said if len(said) <= SENTENCE else f"{said[:SENTENCE].rstrip()}..."
    return f"{words.get(run.status, run.status)}{f': {said}' if said else ''}"


def _fatal_text(run: Run, seen: _Seen) -> str:
    if run.status == "grader_error":
        return f"The grader failed, not the submission: {run.reason}"
    if seen.workloads[run.workload].role == "full":
        size = run.workload.removesuffix(" full")
        return f"It is right at reduced sizes, but at the task's own ({size}) it {_ended(run)}"
    return f"It builds, but on {run.workload} it {_ended(run)}"


def _open_text(run: Run, seen: _Seen) -> str:
    right = sum(item.equal for item in seen.comparisons.values() if item.role in DECIDING)
    so_far = f"; it is right on the {right} workloads that were run" if right else ""
    if run.status == "timeout":
        return f"It builds, but {run.workload} took too long: {run.reason}{so_far}"
    return f"It builds, but {run.workload} was not run: {run.reason}{so_far}"


def _incorrect(wrong: Sequence[Comparison], deciding: int, *, own_weights: bool) -> str:
    first = max(wrong, key=lambda item: item.role == "nominal")
    if own_weights:
        return (
            "Incorrect with the weights that it draws itself: on "
            f"{first.workload}, {_mismatch(first)}; with the reference's weights it is right"
        )
    if all(item.half_precision for item in wrong):
        return f"Correct to half precision only: on {first.workload}, {_mismatch(first)}"
    others = f" ({len(wrong)} of {deciding} workloads are wrong)" if deciding > 1 else ""
    return f"Incorrect: on {first.workload}, {_mismatch(first)}{others}"


def _only_at_full_size(item: Comparison) -> str:
    size = item.workload.removesuffix(" full")
    return f"Incorrect: right at reduced sizes, but at the task's own ({size}) {_mismatch(item)}"


def _mismatch(item: Comparison) -> str:
    return item.mismatch.text if item.mismatch is not None else "it differs"


def _all_wrong(seen: _Seen) -> tuple[str, ...]:
    return tuple(
        f"{item.workload} ({item.role}): {_mismatch(item)}"
        for item in seen.wrong({"nominal", "stress", "general", "full"})
    )


def _correct(seen: _Seen, deciding: int) -> str:
    say = f"Correct on all {deciding} deciding workloads" if deciding > 1 else "Correct"
    if seen.general() is False:
        return f"{say}, but not in general: {seen.first_general()}"
    weak = seen.weak
    return f"{say} (weak task: {weak[0]})" if weak else f"{say}."
