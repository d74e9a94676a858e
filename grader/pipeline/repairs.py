"""`repair`: the repair of one submission, and the reference-fixed kernel of its task; both are evaluated like any program."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial

from grader import build
from grader.devices import looks_closer
from grader.diagnose import Program
from grader.languages import names_in
from grader.pipeline.building import init_of
from grader.pipeline.clock import Clock
from grader.pipeline.context import GradingContext, known_references
from grader.pipeline.examiner import Examiner
from grader.pipeline.verdicts import verdict_of
from grader.records import Evaluation, Finding, Fix, Repair, Submission, Task
from grader.repair import (
    Fixed,
    Model,
    asks_for_change,
    find_repair,
    model_repair,
    needs_fix,
    reference_fixed,
    screen_of,
)
from grader.source import parse

FAILED = Fixed(note="No reference-fixed kernel: writing one failed in the grader.")


@dataclass(frozen=True)
class Repaired:
    """A submission's repair, or how far the search for one got."""

    repair: Repair | None = None
    note: str = ""
    in_vain: frozenset[Fix] = frozenset()
    """Fixes of findings without an improvement."""
    left: tuple[Finding, ...] = ()
    """The repaired program's own findings."""


def repair_program(examiner: Examiner, states: tuple[Program, ...], clock: Clock) -> Repaired:
    """Return a repair of the submission, where one is wanted, needed and found."""
    grading, task = examiner.grading, examiner.task
    if not grading.options.repair or task is None or grading.device is None:
        return Repaired()
    with clock.stage("repair"), clock.beyond_verdict("the search for a repair"):
        found = find_fix(examiner, task, states) if asks_for_change(states[0]) else Repaired()
        return replace(found, left=_findings_left(examiner, states[0].submission, found.repair))
    return Repaired()


def _findings_left(
    examiner: Examiner, submission: Submission, repair: Repair | None
) -> tuple[Finding, ...]:
    """Return what is still found in a repaired program."""
    if repair is None or repair.kind != "fix":
        return ()
    fixed = submission.model_copy(update={"code": repair.code})
    return examiner.inspect(fixed, repair.evaluation).findings


def find_fix(examiner: Examiner, task: Task, states: tuple[Program, ...]) -> Repaired:
    """Search for a repair; where none is found, query a language model if the user enabled that."""
    grading = examiner.grading
    quick = _quick(states)
    candidates = Candidates(replace(examiner, closely=False), quick, _evaluations(states))
    known = known_references(grading, task)
    screen = screen_of(grading.device, task, known, quick=quick) if task.expects else None
    found = Repaired(*find_repair(states, candidates, grading.options.repair_tries, screen))
    if found.repair is not None and looks_closer(grading.device):
        found = replace(
            confirm(examiner, found.repair, states[0].submission), in_vain=found.in_vain
        )
    if found.repair is not None or not grading.options.llm or not needs_fix(states[0]):
        return found
    model = Model(grading.options.llm)
    proposed, note = model_repair(task, states[-1], examiner, model)
    return Repaired(proposed, f"{found.note} {note}".strip(), found.in_vain)


def confirm(examiner: Examiner, repair: Repair, submission: Submission) -> Repaired:
    """Return the repair with a submission's full evaluation, if it passes that too."""
    fixed = submission.model_copy(update={"code": repair.code})
    evaluation = examiner.examine(fixed).evaluation
    if evaluation.verdict.passes:
        return Repaired(repair.model_copy(update={"evaluation": evaluation}))
    sentence = evaluation.verdict.sentence
    return Repaired(note=f"Not fixed: what passed every workload is {sentence}")


def reference_kernel(
    grading: GradingContext, task: Task | None, submission: Submission | None, clock: Clock
) -> Fixed:
    """Return the reference-fixed kernel of a task, or the reason why there is none; made once for each run and language.

    It is in the submission's language if we have one in it, and in both forms on a device that measures time, where the
    fast form's gain is known.
    """
    if not grading.options.repair or grading.device is None:
        return Fixed()
    if task is None or not task.expects:
        return Fixed(note="No reference-fixed kernel: the task isn't known.")
    both = looks_closer(grading.device)
    triton = submission is not None and names_in(parse(submission.code)) == {"triton"}
    write = partial(
        reference_fixed,
        task,
        Examiner(grading, task),
        grading.form,
        both=both,
        in_triton=triton,
    )
    with clock.stage("reference"), clock.beyond_verdict("the reference-fixed kernel"):
        return grading.fixed.get(f"{task.key}{' in Triton' if triton else ''}", write)
    return FAILED


@dataclass(frozen=True)
class Candidates:
    """Examines the many candidates of a search: each is evaluated once, without timing and the device's own tools."""

    examiner: Examiner
    quick: bool
    """Whether the quick compilers' refusal is final."""
    evaluations: dict[str, Evaluation] = field(default_factory=dict)
    """By program."""

    def examine(self, submission: Submission) -> Program:
        """Return a candidate with its evaluation and findings; see `diagnose.Examiner`."""
        if submission.key not in self.evaluations:
            refused = _refused_build(self.examiner, submission) if self.quick else None
            seen = refused or self.examiner.examine(submission).evaluation
            self.evaluations[submission.key] = seen
        return self.examiner.inspect(submission, self.evaluations[submission.key])


def _evaluations(states: tuple[Program, ...]) -> dict[str, Evaluation]:
    return {state.submission.key: state.evaluation for state in states}


def _quick(states: tuple[Program, ...]) -> bool:
    """Whether the quick compilers' result on a candidate is reliable: they accepted the program itself."""
    builds = (state.evaluation.build for state in states)
    return not any(made and made.status == "built" and build.stock_way(made) for made in builds)


def _refused_build(examiner: Examiner, program: Submission) -> Evaluation | None:
    """Return the evaluation of a candidate that the quick compilers refuse; None where they accept it.

    Their result is not final, so it never becomes a sample's verdict; it saves the search for a repair the minutes that
    the stock compilers would need to confirm it.
    """
    grading, task, device = examiner.grading, examiner.task, examiner.grading.device
    if device is None:
        return None
    made = device.draft(program, init_of(task))
    if made.status == "built":
        return None
    return Evaluation(
        submission=program.key,
        device=device.name,
        sandbox=grading.form.name,
        build=made,
        verdict=verdict_of(grading, task, made, (), (), ()),
    )
