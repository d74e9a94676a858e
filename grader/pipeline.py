"""One sample through all stages. `evaluate` is the one way in which any program is judged."""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from grader import judge, sandbox, tasks
from grader.config import Options
from grader.devices import Device, choose_device
from grader.devices.full_size import full_size
from grader.devices.numeric_probes import probe_wrong
from grader.devices.second_look import second_look, without_kernels
from grader.devices.sim import Simulator
from grader.devices.timing import Timed
from grader.diagnose import Program, deepen, gather, headline, mends
from grader.diagnose.claims import check_claims
from grader.errors import GraderError
from grader.ingest import extract
from grader.judge import References
from grader.judge.part import FullSizePart, full_size_part
from grader.judge.probes import Plan
from grader.records import (
    SCHEMA,
    Build,
    Comparison,
    Evaluation,
    Evidence,
    Extraction,
    Finding,
    JsonValue,
    Mismatch,
    Repair,
    Review,
    Run,
    Sample,
    Submission,
    Task,
    TaskChoice,
    TaskSummary,
    Timing,
    Verdict,
    digest,
)
from grader.repair import (
    Model,
    ModelError,
    located,
    mend,
    model_repair,
    needs_mend,
    reference_fixed,
    screening,
    summarise,
)
from grader.rules import Context, explained, review_text
from grader.source import parse
from grader.store import Store, grader_version

Stage = Callable[[str], None]
NOT_KEYED = {"out", "jobs", "only", "fail_on", "cache", "fresh", "seed", "tasks", "ray"}
"""Options that can't change what is said of a sample (the task's text is keyed by itself)."""


class Turns:
    """A lock for each name while somebody has it: what is the same is done once at a time."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._locks: weakref.WeakValueDictionary[str, threading.Lock] = (
            weakref.WeakValueDictionary()
        )

    @contextmanager
    def of(self, name: str) -> Iterator[None]:
        """Hold the name."""
        with self._guard:
            lock = self._locks.get(name) or threading.Lock()
            self._locks[name] = lock
        with lock:
            yield


@dataclass(frozen=True)
class Workshop:
    """What all samples of one run share."""

    options: Options
    store: Store
    seed: int
    form: sandbox.Form
    device: Device | None
    no_device: str = ""
    """Why there is no device, where there is none."""
    references: dict[str, References] = field(default_factory=dict)
    parts: dict[str, FullSizePart | None] = field(default_factory=dict)
    locks: dict[str, threading.Lock] = field(default_factory=dict)
    turns: Turns = field(default_factory=Turns)

    @cached_property
    def limits(self) -> sandbox.Limits:
        """Limits of one list of runs."""
        options = self.options
        return sandbox.Limits(wall=options.run_seconds, memory=int(options.memory_gb * (1 << 30)))

    @cached_property
    def identity(self) -> str:
        """Content address of everything but the sample that could change a review."""
        kept = self.options.model_dump_json(exclude=NOT_KEYED)
        device = self.device.identity if self.device else "none"
        return digest("workshop", SCHEMA, grader_version(), kept, device, str(self.seed))


def open_workshop(
    options: Options, store: Store, seed: int, preparing: Callable[[str], None] = lambda _what: None
) -> Workshop:
    """Find the sandbox and the device, and prepare what is prepared once for this machine.

    Raises GraderError when no sandbox holds, or when the device that was asked for isn't there.
    """
    form = sandbox.strongest(unsafe=options.unsafe_no_sandbox)
    device, reason = choose_device(options, form, store, preparing)
    preparing("")
    return Workshop(options, store, seed, form, device, reason)


def review_key(workshop: Workshop, sample: Sample) -> str:
    """Return the content address of the sample's review."""
    folder = workshop.options.tasks
    return digest("review", workshop.identity, sample.key, _folder_key(folder) if folder else "")


def review(workshop: Workshop, sample: Sample, stage: Stage = lambda _stage: None) -> Review:
    """Grade and review one sample; whatever fails on our side becomes `grader_error`, never a verdict."""
    key = review_key(workshop, sample)
    stored = None if workshop.options.fresh else workshop.store.read("review", key)
    if stored is not None:
        known = Review.model_validate_json(stored)
        return known.model_copy(update={"sample": sample.id, "origin": sample.origin})
    result = _review(workshop, sample, stage)
    if result.verdict.status != "grader_error":
        workshop.store.write("review", key, result.model_dump_json().encode())
    return result


def _review(workshop: Workshop, sample: Sample, stage: Stage) -> Review:
    clock = _Clock(stage)
    extraction = Extraction(submission=None)
    choice = TaskChoice(task=None, how="none", reason="not looked for", confidence=0.0)
    try:
        with clock.stage("read"):
            extraction = extract(sample)
        with clock.stage("task"):
            choice = _choose_task(workshop, sample, extraction)
        return _reviewed(workshop, sample, extraction, choice, clock)
    except Exception as error:  # noqa: BLE001 - whatever we did wrong, the batch goes on
        evaluation = _bare(workshop, extraction, _our_failure(error))
        return _assemble(workshop, sample, extraction, choice, evaluation, clock)


def assess(workshop: Workshop, sample: Sample, task: Task | None = None) -> Evaluation:
    """Judge one answer as `review` does, without diagnosis, repair and reports.

    `task` is what was asked; without it the sample's text says. Whatever fails on our side becomes
    `grader_error`, never a verdict.
    """
    extraction = Extraction(submission=None)
    try:
        extraction = extract(sample)
        submission = extraction.submission
        if submission is None:
            return _bare(workshop, extraction, _no_code(sample, extraction))
        choice = TaskChoice(task=task, how="option", reason="what was asked") if task else None
        chosen = _choose_task(workshop, sample, extraction, choice).task
        evaluation = evaluate(workshop, submission, chosen)
        findings = examine(workshop, sample, extraction, chosen, submission, evaluation)
        return _weighed(workshop, chosen, evaluation, findings)
    except Exception as error:  # noqa: BLE001 - as in _review
        return _bare(workshop, extraction, _our_failure(error))


def build_ahead(workshop: Workshop, sample: Sample) -> str:
    """Build a sample's submission; return the build's address, empty where there is nothing to build.

    Never raises for what a sample is: `review` will say what came of it.
    """
    device = workshop.device
    try:
        extraction = extract(sample)
        submission = extraction.submission
        if device is None or submission is None:
            return ""
        task = _choose_task(workshop, sample, extraction).task
        device.build(submission, _init(task))
        return device.build_key(submission)
    except Exception:  # noqa: BLE001 - a build ahead is no more than a start
        return ""


def _our_failure(error: Exception) -> Verdict:
    return Verdict(
        status="grader_error",
        sentence="The grader itself failed; this says nothing about the submission.",
        reasons=(f"{type(error).__name__}: {error}",),
    )


def _no_code(sample: Sample, extraction: Extraction) -> Verdict:
    if sample.unreadable:
        return Verdict(
            status="grader_error",
            sentence="Its file could not be read; this says nothing about the submission.",
            reasons=(sample.unreadable,),
        )
    return Verdict(status="no_code", sentence=f"There is no code to grade: {extraction.found}.")


def _reviewed(
    workshop: Workshop, sample: Sample, extraction: Extraction, choice: TaskChoice, clock: _Clock
) -> Review:
    submission = extraction.submission
    if submission is None:
        bare = _bare(workshop, extraction, _no_code(sample, extraction))
        return _assemble(workshop, sample, extraction, choice, bare, clock)

    def examined(program: Submission, evaluation: Evaluation) -> tuple[Finding, ...]:
        return examine(workshop, sample, extraction, choice.task, program, evaluation)

    def judged(program: Submission) -> Evaluation:
        evaluation = evaluate(workshop, program, choice.task)
        return _weighed(workshop, choice.task, evaluation, examined(program, evaluation))

    with clock.stage("evaluate"):
        evaluation = judged(submission)
    with clock.stage("diagnose"):
        findings = examined(submission, evaluation)
        if evaluation.verdict.status == "incorrect" and not explained(findings):
            evaluation = _probed(workshop, choice.task, submission, evaluation)
            findings = examined(submission, evaluation)
        first = Program(submission, evaluation, findings)
        states = deepen(first, judged, examined)
    repairs: tuple[Repair, ...] = ()
    note = ""
    if workshop.options.repair and choice.task and workshop.device:
        with clock.stage("repair"):
            repairs, note = _repairs(workshop, choice.task, states, judged, examined)
    return _assemble(workshop, sample, extraction, choice, evaluation, clock, states, repairs, note)


def _weighed(
    workshop: Workshop, task: Task | None, evaluation: Evaluation, findings: tuple[Finding, ...]
) -> Evaluation:
    """Return the evaluation with a verdict that also weighs how the result came about."""
    cheats, dishonest = judge.suspicions(evaluation, findings, workshop.options.policy)
    if not cheats and not dishonest:
        return evaluation
    verdict = _verdict(
        workshop,
        task,
        evaluation.build,
        evaluation.runs,
        evaluation.comparisons,
        evaluation.probes,
        rejected=cheats,
        dishonest=dishonest,
    )
    return evaluation.model_copy(update={"verdict": verdict})


def _probed(
    workshop: Workshop, task: Task | None, submission: Submission, evaluation: Evaluation
) -> Evaluation:
    """Return the evaluation with what numeric probes show of its wrong results."""
    if workshop.device is None or evaluation.build is None or task is None:
        return evaluation

    def asked(probing: Task, planned: Plan) -> References:
        key = digest("probe", task.key, planned.of)
        with workshop.locks.setdefault(key, threading.Lock()):
            if key not in workshop.references:
                workshop.references[key] = judge.reference(
                    probing,
                    probing.judged,
                    workshop.seed,
                    workshop.form,
                    workshop.limits,
                    inputs=planned.inputs,
                )
            return workshop.references[key]

    try:
        found = probe_wrong(
            workshop.device,
            submission,
            evaluation.build,
            task,
            _known(workshop, task),
            evaluation.comparisons,
            asked,
        )
    except GraderError:  # an explanation is missing then, the verdict stands
        return evaluation
    return evaluation.model_copy(update={"probes": (*evaluation.probes, *found)})


def _repairs(
    workshop: Workshop,
    task: Task,
    states: tuple[Program, ...],
    judged: Callable[[Submission], Evaluation],
    examined: Callable[[Submission, Evaluation], tuple[Finding, ...]],
) -> tuple[tuple[Repair, ...], str]:
    found: list[Repair] = []
    note = ""
    if needs_mend(states[0]):
        screen = screening(workshop.device, task, _known(workshop, task))
        mended, note = mend(states, judged, examined, workshop.options.repair_tries, screen)
        if mended is None and workshop.options.llm:
            model = Model(workshop.options.llm)
            mended, said = model_repair(task, states[-1], judged, model)
            note = f"{note} {said}".strip()
        found += [mended] if mended else []

    def traced(reference: str) -> JsonValue:
        return judge.trace(reference, workshop.form, sandbox.Limits())

    fixed = reference_fixed(task, states[0].submission, judged, traced)
    found += [fixed] if fixed else []
    return tuple(found), note


def examine(
    workshop: Workshop,
    sample: Sample,
    extraction: Extraction,
    task: Task | None,
    program: Submission,
    evaluation: Evaluation,
) -> tuple[Finding, ...]:
    """Return the findings about a program, from its text and from what happened to it."""
    build = evaluation.build
    context = Context(
        task=task,
        torch_version=workshop.device.torch_version if workshop.device else (2, 6),
        evidence=evidence_of(evaluation),
        resources=build.resources if build else (),
        counts=tuple(count for run in evaluation.runs for count in run.counts),
        launches=tuple(launch for run in evaluation.runs for launch in run.launches),
        extraction=extraction,
        sample=sample,
        device=evaluation.device,
    )
    options = workshop.options
    found = review_text(parse(program.code), context, options.select, options.ignore)
    return tuple(_placed(finding, program) for finding in found)


def evidence_of(evaluation: Evaluation) -> tuple[Evidence, ...]:
    """Return everything that was observed while a program was evaluated."""
    build = evaluation.build
    patterns = (
        pattern.model_copy(update={"workload": item.workload})
        for item in evaluation.comparisons
        if item.mismatch and item.counts
        for pattern in item.mismatch.patterns or (_plain(item.mismatch),)
    )
    return (
        *((*build.errors, *build.warnings) if build else ()),
        *(item for run in evaluation.runs for item in run.evidence),
        *_raised(evaluation.runs),
        *patterns,
        *evaluation.probes,
    )


def _raised(runs: tuple[Run, ...]) -> Iterator[Evidence]:
    """Yield what Python raised while the program ran, each sentence once."""
    for reason in dict.fromkeys(run.reason for run in runs if run.status == "raised"):
        yield Evidence(kind="python", code="raised", text=reason)


def _plain(mismatch: Mismatch) -> Evidence:
    """Return a mismatch in which no pattern was seen as evidence by itself."""
    return Evidence(kind="mismatch", code=mismatch.kind, text=mismatch.text)


def evaluate(workshop: Workshop, submission: Submission, task: Task | None) -> Evaluation:
    """Build a program, run it on the task's workloads, compare, and give the verdict.

    The same for a submission, a mended one, a reference kernel and a known cheat; the result is stored by content.
    """
    key = digest("evaluation", workshop.identity, submission.key, task.key if task else "")
    with workshop.turns.of(key):
        stored = None if workshop.options.fresh else workshop.store.read("evaluation", key)
        if stored is not None:
            return Evaluation.model_validate_json(stored)
        evaluation = _evaluate(workshop, submission, task)
        if evaluation.verdict.status != "grader_error":
            workshop.store.write("evaluation", key, evaluation.model_dump_json().encode())
        return evaluation


def _evaluate(workshop: Workshop, submission: Submission, task: Task | None) -> Evaluation:
    clock = _Clock(lambda _stage: None)
    device = workshop.device
    build: Build | None = None
    runs: tuple[Run, ...] = ()
    comparisons: tuple[Comparison, ...] = ()
    probes: tuple[Evidence, ...] = ()
    if device is not None:
        with clock.stage("build"):
            build = device.build(submission, _init(task))
        if build.status == "built" and task is not None:
            with clock.stage("run"):
                runs, comparisons, probes = _run(workshop, device, submission, build, task)

    verdict = _verdict(workshop, task, build, runs, comparisons, probes)
    if device and build and task and verdict.status == "correct":
        with clock.stage("rehearse"):
            full = device.rehearse(submission, build, task, _known(workshop, task).guest_seed)
        if full is not None:
            runs = (*runs, full)
            verdict = _verdict(workshop, task, build, runs, comparisons, probes)
    if device and build and task and verdict.status == "correct":
        with clock.stage("run again"):
            probes += _again(workshop, device, submission, build, task, runs, comparisons)
        verdict = _verdict(workshop, task, build, runs, comparisons, probes)
    timings: tuple[Timing, ...] = ()
    if device and build and task and verdict.status == "correct" and workshop.options.timing:
        with clock.stage("time"):
            timed = device.time(submission, build, task, _known(workshop, task))
        if timed is not None:
            verdict = _verdict(
                workshop, task, build, runs, comparisons, probes, dishonest=timed.dishonest
            )
            verdict, timings = _with_time(verdict, timed), timed.timings
    evaluation = Evaluation(
        submission=submission.key,
        device=device.name if device else "none",
        sandbox=workshop.form.name,
        build=build,
        runs=runs,
        comparisons=comparisons,
        timings=timings,
        probes=probes,
        verdict=verdict,
        seconds=clock.seconds,
    )
    if device is None or task is None or not runs:
        return evaluation
    return _sanitized(evaluation, device, submission, task, _known(workshop, task))


def _sanitized(
    evaluation: Evaluation,
    device: Device,
    submission: Submission,
    task: Task,
    references: References,
) -> Evaluation:
    """Add to the runs what the device's own tools find in a program that went wrong."""
    if evaluation.build is None:
        return evaluation
    seen = device.sanitize(submission, evaluation.build, task, references, evaluation)
    if not seen.evidence and not seen.notes:
        return evaluation
    runs = tuple(
        run.model_copy(
            update={
                "evidence": (
                    *run.evidence,
                    *(item for item in seen.evidence if item.workload == run.workload),
                )
            }
        )
        for run in evaluation.runs
    )
    reasons = (*evaluation.verdict.reasons, *seen.notes)
    verdict = evaluation.verdict.model_copy(update={"reasons": reasons})
    return evaluation.model_copy(update={"runs": runs, "verdict": verdict})


def _verdict(
    workshop: Workshop,
    task: Task | None,
    build: Build | None,
    runs: tuple[Run, ...],
    comparisons: tuple[Comparison, ...],
    probes: tuple[Evidence, ...],
    *,
    rejected: tuple[str, ...] = (),
    dishonest: tuple[str, ...] = (),
) -> Verdict:
    return judge.verdict(
        task=task,
        build=build,
        runs=runs,
        comparisons=comparisons,
        shapes=workshop.options.shapes,
        no_device=workshop.no_device,
        rejected=rejected,
        dishonest=dishonest,
        probes=probes,
    )


def _with_time(verdict: Verdict, timed: Timed) -> Verdict:
    """Add what timing showed: the speedup of an honest program, or what goes wrong at full size."""
    speedup = None if timed.dishonest else timed.speedup
    median, low, high = speedup or (None, None, None)
    said = tuple(filter(None, (timed.wrong, timed.note)))
    return verdict.model_copy(
        update={
            "speedup": median,
            "speedup_low": low,
            "speedup_high": high,
            "general": False if timed.wrong else verdict.general,
            "reasons": (*verdict.reasons, *said),
        }
    )


def _init(task: Task | None) -> tuple[object, ...] | None:
    return task.workloads[0].init if task and task.workloads else None


def _run(
    workshop: Workshop, device: Device, submission: Submission, build: Build, task: Task
) -> tuple[tuple[Run, ...], tuple[Comparison, ...], tuple[Evidence, ...]]:
    references = _known(workshop, task)
    results = device.run(submission, build, task, references)
    comparisons = [
        judge.compare(task, workload, references, result)
        for workload, result in zip(task.judged, results, strict=True)
        if result.run.status == "ran"
    ]
    seen = (
        *judge.conduct(references, [result.result for result in results]),
        *judge.own_weights(task, comparisons),
    )
    return tuple(result.run for result in results), tuple(comparisons), seen


def _again(
    workshop: Workshop,
    device: Device,
    submission: Submission,
    build: Build,
    task: Task,
    runs: tuple[Run, ...],
    comparisons: tuple[Comparison, ...],
) -> tuple[Evidence, ...]:
    """Look a second time at a program that was right; what it does without kernels where asked."""
    references = _known(workshop, task)
    seen = second_look(device, submission, build, task, references, runs, comparisons)
    seen += without_kernels(device, submission, build, task, references)
    delegates = bool(judge.computing(runs))
    if isinstance(device, Simulator) and not delegates and (part := _part(workshop, task)):
        seen += full_size(device, submission, build, task, part)
    return seen


def _part(workshop: Workshop, task: Task) -> FullSizePart | None:
    """Return the part of a task's full size that can be looked at; found once a run."""
    lock = workshop.locks.setdefault(task.key, threading.Lock())
    with lock:
        if task.key not in workshop.parts:
            workshop.parts[task.key] = full_size_part(
                task, workshop.seed, workshop.form, workshop.limits
            )
        return workshop.parts[task.key]


def _known(workshop: Workshop, task: Task) -> References:
    """Return inputs and reference outputs of all workloads but the full-size ones.

    Made once a run for each task, by a guest of their own.
    """
    lock = workshop.locks.setdefault(task.key, threading.Lock())
    with lock:
        if task.key not in workshop.references:
            workshop.references[task.key] = judge.reference(
                task, task.judged, workshop.seed, workshop.form, workshop.limits
            )
        return workshop.references[task.key]


def _choose_task(
    workshop: Workshop, sample: Sample, extraction: Extraction, choice: TaskChoice | None = None
) -> TaskChoice:
    """Return the choice that was made already, or the sample's own, with its workloads."""
    options = workshop.options
    asked = choice is not None
    if choice is None:
        choice = tasks.choose(sample, extraction, task=options.task, tasks_dir=options.tasks)
    if choice.task is None or choice.task.workloads:
        return choice
    filled = judge.describe(choice.task, workshop.form, workshop.limits)
    if filled.workloads or asked:
        return choice.model_copy(update={"task": filled})
    plain = tasks.choose(
        sample, extraction, task=options.task, tasks_dir=options.tasks, drafts=False
    )
    if plain.task is None:
        return choice.model_copy(update={"task": filled})
    because = f"{plain.reason} ({choice.task.name} could not be used: {filled.notes[-1]})"
    return plain.model_copy(update={"reason": because})


def _placed(finding: Finding, program: Submission) -> Finding:
    place = finding.place
    if place is None or place.sample_line:
        return finding
    return finding.model_copy(
        update={"place": place.model_copy(update={"sample_line": program.sample_line(place.line)})}
    )


def _bare(workshop: Workshop, extraction: Extraction, verdict: Verdict) -> Evaluation:
    return Evaluation(
        submission=extraction.submission.key if extraction.submission else "",
        device="none",
        sandbox=workshop.form.name,
        verdict=verdict,
    )


def _assemble(
    workshop: Workshop,
    sample: Sample,
    extraction: Extraction,
    choice: TaskChoice,
    evaluation: Evaluation,
    clock: _Clock,
    states: tuple[Program, ...] = (),
    repairs: tuple[Repair, ...] = (),
    note: str = "",
) -> Review:
    submission = extraction.submission
    findings = gather(states) if states else ()
    if submission is not None:
        findings = located(findings, submission, repairs)
    task = choice.task
    told = headline(evaluation.verdict, findings)
    evaluation = evaluation.model_copy(update={"verdict": told})
    summary = _summary(workshop, told, findings) if states else ""
    return Review(
        sample=sample.id,
        origin=sample.origin,
        format=sample.format,
        text=sample.text,
        code=submission.code if submission else None,
        line_map=submission.line_map if submission else (),
        how=submission.how if submission else extraction.found,
        notes=(*sample.notes, *(submission.notes if submission else ())),
        task=TaskSummary(
            name=task.name if task else None,
            source=choice.how,
            reason=choice.reason,
            confidence=choice.confidence,
            title=task.title if task else "",
            weak=task.weak if task else (),
            reference=task.reference if task else "",
        ),
        evaluation=evaluation.model_copy(
            update={"seconds": {**evaluation.seconds, **clock.seconds}}
        ),
        findings=findings,
        mends=mends(states) if states else (),
        repairs=repairs,
        repair_note=note,
        claims=check_claims(
            extraction, parse(submission.code) if submission else None, evaluation, findings
        ),
        summary=summary,
        environment=_environment(workshop),
    )


def _summary(workshop: Workshop, verdict: Verdict, findings: tuple[Finding, ...]) -> str:
    if not workshop.options.llm or not findings:
        return ""
    try:
        return summarise(verdict, findings, Model(workshop.options.llm))
    except ModelError as error:
        return f"(no summary: {error})"


def _environment(workshop: Workshop) -> Mapping[str, str]:
    facts = workshop.device.facts if workshop.device else {"device": workshop.no_device}
    return {**facts, "seed of the inputs": str(workshop.seed)}


def _folder_key(folder: Path) -> str:
    try:
        files = sorted(folder.rglob("*.py"))
        return digest(
            *(f"{path}:{path.stat().st_size}:{path.stat().st_mtime_ns}" for path in files)
        )
    except OSError as error:
        raise GraderError(f"can't read the tasks in {folder}: {error.strerror}") from error


class _Clock:
    """Wall time by stage, in seconds."""

    def __init__(self, watch: Stage) -> None:
        self.seconds: dict[str, float] = {}
        self._watch = watch

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        self._watch(name)
        begin = time.monotonic()
        try:
            yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + time.monotonic() - begin
