"""The verdict on a submission: the first stage it failed at, or correct."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from grader.judge import sentences, soundness
from grader.judge.honesty import computing_operators
from grader.judge.own_weights import OWN_WEIGHTS
from grader.judge.seen import FATAL, OPEN, Seen
from grader.judge.side_effects import idle, liberties, say_saturated, unsteady
from grader.judge.unknown_task import verdict_without_values
from grader.records import (
    DECIDING,
    RIGHT_VALUES,
    Build,
    Comparison,
    Evidence,
    Run,
    SeenAt,
    Status,
    Task,
    Verdict,
)


@dataclass(frozen=True)
class _Around:
    """The inputs of the verdict besides build, runs and comparisons."""

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
    checked: Sequence[Run] = (),
) -> Verdict:
    """Return the verdict: the first stage that failed, in the order of `Status`.

    `nominal` and `stress` workloads decide `correct`, `general` ones decide `general` (and with
    shapes "any" also `correct`); where the reference itself is NaN or infinite nothing hangs on a
    workload. Undefined behaviour that a run proved makes right values `unsound` where it was seen on a
    workload that decides, and no more than not `general` where it was seen at other sizes alone.
    `no_device`, `no_code` and `no_task` say why there is none, `rejected` how it cheats by construction,
    `dishonest` what it was seen doing to look better than it is, `probes` what it does beside the values
    of one call, `checked` what a device that checks each access saw of the same workloads, where these runs
    are another's: what it proves counts, how its runs end does not.
    """
    if task is not None and not task.expects and not _is_broken(build):
        return verdict_without_values(build, runs, checked, probes)
    around = _Around(task, no_code, no_task, no_device, rejected)
    early = _before_the_runs(build, around)
    if early is not None:
        return early
    own_weights = any(probe.code == OWN_WEIGHTS for probe in probes)
    lazy = build is not None and build.lazy
    seen = Seen(task, runs, comparisons, checked, own_weights=own_weights, lazy=lazy)
    at = seen.at(probes)
    found = _own_work(_steady(_of_the_runs(seen, at), seen, probes), runs)
    later = unsteady(probes, roles=seen.roles, general=True)
    sound = _sound(found, seen, probes, shapes)
    strays = _strays(sound, seen, probes)
    taken = (*liberties(probes), *map(soundness.brief, strays))
    more = filter(None, (later, idle(probes), say_saturated(probes)))
    reasons = (*sound.reasons, *taken, *more, *sentences.remarks(seen))
    general = False if later or taken or sound.status == "unsound" else seen.general()
    status, sentence = _last_word(sound, seen, later, dishonest, shapes)
    return Verdict(
        status=status,
        sentence=sentence,
        compiled=_has_compiled(build),
        correct=_CORRECT.get(status),
        general=general if found.status == "correct" else None,
        fails_with=seen.fails_with() if status == "correct" else None,
        honest=not dishonest if runs else None,
        reasons=(*dishonest, *reasons),
        kernelbench=seen.kernelbench(),
        seen_at=at,
    )


def _last_word(
    sound: _Found, seen: Seen, later: str, dishonest: tuple[str, ...], shapes: str
) -> tuple[Status, str]:
    """Return the status and the sentence with dishonesty, and errors at other sizes where these decide, taken into account."""
    if sound.status not in RIGHT_VALUES:
        return sound.status, sound.sentence
    if shapes == "any" and (later or seen.general() is False):
        return "incorrect", f"Incorrect at other sizes: {later or sentences.elsewhere(seen)}"
    if dishonest:
        return "dishonest", f"Dishonest: {dishonest[0]}"
    return sound.status, sound.sentence


def add_notes(verdict: Verdict, notes: tuple[str, ...]) -> Verdict:
    """Return the verdict with notes for its reader in its sentence and reasons."""
    sentence = "; ".join((verdict.sentence.rstrip("."), *notes))
    return verdict.model_copy(
        update={"sentence": f"{sentence}.", "reasons": (*notes, *verdict.reasons)}
    )


@dataclass(frozen=True)
class _Found:
    status: Status
    sentence: str
    reasons: tuple[str, ...] = ()


def _steady(found: _Found, seen: Seen, probes: Sequence[Evidence]) -> _Found:
    """Return the given status and sentence, or `incorrect` where the state check refutes them."""
    if found.status != "correct":
        flat = say_saturated(probes)
        return replace(found, sentence=f"{found.sentence.rstrip('.')}; {flat}") if flat else found
    unlike = unsteady(probes, roles=seen.roles, general=False)
    if unlike:
        return _Found("incorrect", f"Incorrect: {unlike}", (unlike,))
    strays = _strays(found, seen, probes)
    elsewhere = (f"not in general: on {item.workload}, {soundness.brief(item)}" for item in strays)
    said = (*liberties(probes), unsteady(probes, roles=seen.roles, general=True), *elsewhere)
    first = next(filter(None, said), "")
    if not first or seen.general() is False:
        return found
    return replace(found, sentence=f"{found.sentence.rstrip('.')}, but {first}.")


def _sound(
    found: _Found, seen: Seen, probes: Sequence[Evidence], shapes: Literal["nominal", "any"]
) -> _Found:
    """Return the given status and sentence, or `unsound` where the values are right only by luck.

    Also of a program that went wrong in one guest and not in the next: a race that is proven is why, and not the grader.
    """
    unlike = found.status == "grader_error" and seen.is_right()
    if found.status != "correct" and not unlike:
        return found
    roles = seen.deciding | ({"general"} if shapes == "any" else set())
    proofs = _proofs(seen, probes, roles)
    names = {workload.name for workload in seen.of(roles)}
    harmless = tuple(soundness.benign(seen.examined, names))
    unseen = soundness.reasons_unexamined(seen.checked, names)
    reasons = (*map(soundness.brief, proofs), *found.reasons, *harmless, *unseen)
    if not proofs:
        return found if unlike else replace(found, reasons=reasons)
    if unlike:  # what differs from guest to guest is what undefined behaviour does
        reasons = (found.sentence, *reasons)
    where = sentences.where(len(seen.of(DECIDING)))
    return _Found("unsound", soundness.sentence(proofs, where), (soundness.luck(where), *reasons))


def _strays(found: _Found, seen: Seen, probes: Sequence[Evidence]) -> tuple[Evidence, ...]:
    """Return the undefined behaviour of a right program at other sizes only."""
    return _proofs(seen, probes, {"general"}) if found.status == "correct" else ()


def _proofs(seen: Seen, probes: Sequence[Evidence], roles: Collection[str]) -> tuple[Evidence, ...]:
    names = {workload.name for workload in seen.of(roles)}
    return soundness.proofs(seen.examined, probes, names)


def _own_work(found: _Found, runs: Sequence[Run]) -> _Found:
    """Return the given sentence, with a remark where the simulator saw torch compute everything."""
    on_sim = all(run.device == "sim" for run in runs)
    if found.status != "correct" or not on_sim or any(run.launches for run in runs):
        return found
    if not computing_operators(runs):
        return found
    said = "no kernel of its own ran: torch computed the result"
    return replace(found, sentence=f"{found.sentence.rstrip('.')}; {said}.")


_CORRECT: Mapping[Status, bool] = {
    "correct": True,
    "unsound": False,
    "dishonest": False,
    "incorrect": False,
    "crashed": False,
    "hung": False,
}
"""Known value of `general` by status; None for other statuses."""


def _has_compiled(build: Build | None) -> bool | None:
    if build is None or build.status == "grader_error":
        return None
    return build.status == "built"


def _before_the_runs(build: Build | None, around: _Around) -> Verdict | None:
    """Return the verdict on a program without a run that counts."""
    compiled = _has_compiled(build)

    def make_verdict(status: Status, sentence: str, *, honest: bool | None = None) -> Verdict:
        return Verdict(
            status=status,
            sentence=sentence,
            compiled=compiled,
            correct=False if status == "rejected" else None,
            honest=honest,
            reasons=around.rejected,
        )

    if around.no_code:
        return make_verdict("no_code", f"No code: {around.no_code}")
    if not _askable(around.task) and not _is_broken(build):
        notes = around.task.notes if around.task else ()
        return make_verdict(
            "no_task", sentences.without_task(build, around.no_task or "; ".join(notes))
        )
    if around.rejected:
        return make_verdict("rejected", f"Rejected: {around.rejected[0]}", honest=False)
    return _without_runs(build, around.no_device)


def _askable(task: Task | None) -> bool:
    """Whether there is a task, with workloads to run: a problem's own text may be broken."""
    return task is not None and bool(task.workloads)


def _is_broken(build: Build | None) -> bool:
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


def _build_verdict(build: Build) -> Verdict:
    status: Status = "build_timeout" if build.status == "timeout" else "build_failed"
    text = sentences.build_failure(build)
    return Verdict(
        status=status, sentence=text[:1].upper() + text[1:], compiled=False, correct=False
    )


def _of_the_runs(seen: Seen, at: SeenAt | None) -> _Found:
    deciding = seen.of(DECIDING)
    if not deciding:
        return _Found("not_run", "It builds; no workload that decides was run.")
    reasons = sentences.all_wrong(seen)
    for run_status, status in FATAL.items():
        run = seen.run_that_ended(seen.deciding, run_status)
        if run is not None:
            return _Found(status, sentences.fatal(run, seen), reasons)
    wrong = seen.failures(DECIDING)
    at_full_size = seen.wrong_at_full_size()
    if not wrong and at_full_size is not None:
        return _Found("incorrect", sentences.only_at_full_size(at_full_size), reasons)
    if wrong:
        sentence = sentences.incorrect(
            wrong,
            len(deciding),
            own_weights=seen.own_weights,
            rounded=seen.is_rounded_only(),
            switched=seen.rounding_switches(),
        )
        lenient = (sentences.KERNELBENCH_PASSES,) if seen.kernelbench() else ()
        return _Found("incorrect", sentence, (*lenient, *reasons))
    for run_status, status in OPEN.items():
        run = seen.run_that_ended(DECIDING, run_status)
        if run is not None:
            return _Found(status, sentences.open_(run, seen))
    missing = [w.name for w in deciding if w.name not in seen.comparisons]
    if missing:
        return _Found("grader_error", f"The grader failed: no comparison of {missing[0]}.")
    return _Found("correct", sentences.correct(seen, len(deciding), at), reasons)
