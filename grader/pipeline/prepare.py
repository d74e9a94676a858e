"""`prepare`: extracts from a sample the program to judge and its task."""

from __future__ import annotations

from dataclasses import dataclass, replace

from grader import tasks
from grader.ingest import extract
from grader.pipeline.building import build_meanwhile
from grader.pipeline.clock import Clock
from grader.pipeline.context import GradingContext, describe_draft, is_described
from grader.pipeline.problem_names import with_problem_names
from grader.pipeline.written_numbers import written_numbers
from grader.records import Extraction, Sample, Submission, Task, TaskChoice
from grader.source import parse

NO_INPUTS = "it was not run: it brings neither `get_inputs` nor a call of its model, and its code leaves open what it takes"
UNKNOWN = TaskChoice(task=None, how="none", reason="not looked for", confidence=0.0)


@dataclass(frozen=True)
class Prepared:
    """A sample with the program to judge, and its task."""

    sample: Sample
    extraction: Extraction
    choice: TaskChoice = UNKNOWN
    failure: Exception | None = None
    """A failure of the grader in this stage; earlier results are kept."""

    @property
    def submission(self) -> Submission | None:
        """The program, completed from the problem's file; None where the sample holds no code."""
        return self.extraction.submission

    @property
    def task(self) -> Task | None:
        """The task with its workloads; None where unknown."""
        return self.choice.task


def prepare(
    grading: GradingContext, sample: Sample, clock: Clock | None = None, task: Task | None = None
) -> Prepared:
    """Extract a sample's program, choose its task, and complete the program from the task's file.

    `task` is the task, if the caller knows it; otherwise it is inferred from the sample. Never raises: a failure of the
    grader is the record's `failure`.
    """
    clock = clock or Clock()
    prepared = Prepared(sample, Extraction(submission=None))
    try:
        with clock.stage("read"):
            prepared = replace(prepared, extraction=extract(sample))
        with clock.stage("task"):
            choice = choose_task(grading, prepared, task)
            prepared = replace(prepared, choice=choice)
            return replace(prepared, extraction=_complete_extraction(prepared))
    except Exception as error:  # noqa: BLE001 - whatever we did wrong, the batch goes on
        return replace(prepared, failure=error)


def choose_task(
    grading: GradingContext, prepared: Prepared, asked: Task | None = None
) -> TaskChoice:
    """Return the given task, or the one inferred from the sample, with its workloads.

    Raises GraderError for our own failure.
    """
    if asked is not None:
        chosen = TaskChoice(task=asked, how="option", reason="what was asked", confidence=1.0)
        return _fill_workloads(grading, chosen, prepared.submission)
    choice = _choose_task(grading, prepared)
    if choice.task is None:
        return _with_own_inputs(grading, choice, prepared)
    filled = _fill_workloads(grading, choice, prepared.submission)
    if filled.task is None or filled.task.workloads:
        return filled
    plain = _choose_task(grading, prepared, drafts=False)
    if plain.task is None:
        return filled
    why = f"{choice.task.name} could not be used: {filled.task.notes[-1]}"
    return plain.model_copy(update={"reason": f"{plain.reason} ({why})"})


def _choose_task(grading: GradingContext, prepared: Prepared, *, drafts: bool = True) -> TaskChoice:
    options, submission = grading.options, prepared.submission
    choice = tasks.choose(
        prepared.sample,
        prepared.extraction,
        task=options.task,
        tasks_dir=options.tasks,
        dtype=options.dtype,
        drafts=drafts,
    )
    code = parse(submission.code if submission else "")
    return tasks.as_asked(choice, code, options.backward)


def _with_own_inputs(grading: GradingContext, choice: TaskChoice, prepared: Prepared) -> TaskChoice:
    """Return the choice for an unknown task, with the answer's own inputs if a device can run it on them.

    Sizes in its code stay unchanged, since nothing says which others it supports.
    """
    if prepared.submission is None or grading.device is None:
        return choice
    own = tasks.own_inputs(prepared.sample, prepared.submission)
    if own is None:
        return _add_reason(choice, NO_INPUTS)
    task = describe_draft(grading, own.task, written_numbers(prepared.submission))
    ran = f"its inputs come from {own.source}, and its results are not compared"
    if not task.workloads:
        return _add_reason(choice, f"{own.source} gave no inputs: {'; '.join(task.notes)}")
    return _add_reason(choice, ran).model_copy(update={"task": task})


def _add_reason(choice: TaskChoice, why: str) -> TaskChoice:
    return choice.model_copy(update={"reason": f"{choice.reason}; {why}"})


def _fill_workloads(
    grading: GradingContext, choice: TaskChoice, submission: Submission | None
) -> TaskChoice:
    """Return the choice with workloads for a problem file's draft.

    Finding them takes as long as a build, which starts in parallel.
    """
    if choice.task is None or choice.task.workloads:
        return choice
    if submission is not None and not is_described(grading, choice.task):
        build_meanwhile(grading, submission, choice.task)
    return choice.model_copy(update={"task": describe_draft(grading, choice.task)})


def _complete_extraction(prepared: Prepared) -> Extraction:
    if prepared.submission is None:
        return prepared.extraction
    whole = with_problem_names(prepared.submission, prepared.task)
    return prepared.extraction.model_copy(update={"submission": whole})
