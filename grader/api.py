"""One answer graded from Python, for notebooks and scripts.

    from grader import grade

    result = grade(answer, task="softmax")
    result.status, result.findings, result.fix

For many answers at a time, each with a number for training, use `grader.reward`; for folders, the command line.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from grader import config
from grader.config import Options
from grader.errors import UsageError
from grader.ingest import read_samples
from grader.ingest.decode import clean
from grader.pipeline import GradingContext, open_context
from grader.records import Finding, Repair, Review, Sample, Status
from grader.report.escape import one_line
from grader.report.findings import cause, rank_findings
from grader.store import Store

MOST = 5
"""Most findings in the text form."""
_DEVICES = {"sim": "on the simulator", "cuda": "on a GPU", "none": "not run"}
_opening = threading.Lock()


@dataclass(frozen=True, repr=False)
class Graded:
    """The result for one answer, for interactive use; `review` is the complete record.

    It wraps the record instead of being it: records import no report, and a record's own `repr`
    shows all of its fields, the answer's text and every run among them.
    """

    review: Review

    @property
    def status(self) -> Status:
        """The answer's status: `correct`, `incorrect`, `build_failed`, ..."""
        return self.review.verdict.status

    @property
    def sentence(self) -> str:
        """The verdict in one sentence."""
        return self.review.verdict.sentence

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Defects with their place and evidence, the gravest first."""
        return tuple(rank_findings(self.review.findings))

    @property
    def fix(self) -> str | None:
        """The answer's code, changed so that it passes every workload; None where no change was found."""
        return self._code("fix", "model")

    @property
    def reference(self) -> str | None:
        """The grader's own kernel for the same task, which passes every workload; None if there is none."""
        return self._code("reference")

    def _code(self, *kinds: str) -> str | None:
        passed: tuple[Repair, ...] = self.review.repairs
        return next((repair.code for repair in passed if repair.kind in kinds), None)

    def __repr__(self) -> str:
        return "\n".join(map(one_line, self._lines()))

    def _lines(self) -> list[str]:
        task = self.review.task.name or "unknown task"
        told = [finding for finding in self.findings if finding.severity != "note"]
        device, stated = self.review.evaluation.device, cause(self.review)
        lines = [
            f"{self.status} · {task} · {_DEVICES.get(device, device)}",
            self.sentence,
            *(_line(one, said=one is stated) for one in told[:MOST]),
        ]
        if len(told) > MOST:
            lines.append(f"... and {len(told) - MOST} more in .findings")
        kept = [name for name in ("fix", "reference") if getattr(self, name) is not None]
        return [*lines, *(f".{name} holds code that passes" for name in kept)]

    def _repr_html_(self) -> str:
        from grader.report.html.notebook import frame

        return frame(self.review)


def grade(
    answer: str | Path,
    task: str | None = None,
    *,
    stage: Callable[[str], None] = lambda _stage: None,
    **options: Any,
) -> Graded:
    """Grade one answer and return the result.

    Parameters
    ----------
    answer
        What a model wrote: a transcript with code in it, or the code itself; or the path of a file
        with one such answer.
    task
        Name of a built-in task, path of a KernelBench-style problem file, or such a file's text.
        Without it the task is inferred from the answer's text.
    stage
        Called with the name of each stage as it begins.
    options
        Options of the command line by their names: `device="sim"`, `repair=False`, `policy=...`. Other options come
        from the environment and `pyproject.toml`, as there.

    The inputs' seed is a secret of this installation, and what is graded twice is graded once: the
    result is kept in the user's cache. Any thread may call.

    Raises UsageError for an option or a task that there is not, GraderError where this machine
    can't grade. A failure of the grader's own while it grades is the status `grader_error`.

    """
    chosen, _ = config.load(options, origin="argument")
    return grade_answer(answer, task, chosen, stage)


def grade_answer(
    answer: str | Path, task: str | None, chosen: Options, stage: Callable[[str], None]
) -> Graded:
    """Grade one answer as `grade` does, with merged options."""
    from grader.pipeline.review import review

    shared = open_grading(chosen.model_copy(update={"task": None}))
    asked = (
        chosen if task is None else chosen.model_copy(update={"task": _check_task(task, chosen)})
    )
    made = review(replace(shared, options=asked), _sample(answer), stage)
    shared.store.trim_sometimes()
    return Graded(made)


def open_grading(options: Options) -> GradingContext:
    """Return the context that calls with the same options share: device, store, references of each task."""
    with _opening:
        return _context_for(options)


@cache
def _context_for(options: Options) -> GradingContext:
    store = Store(options.cache)
    seed = store.seed("grade") if options.seed is None else options.seed
    return open_context(options, store, seed)


def _check_task(task: str, options: Options) -> str:
    from grader.tasks.choose import asked_for

    asked_for(task, options.tasks)
    return task


def _sample(answer: str | Path) -> Sample:
    if isinstance(answer, Path):
        return _only(list(read_samples([str(answer)])), answer)
    return Sample(id="answer", origin="answer", format="transcript", text=clean(answer))


def _only(found: list[Sample], path: Path) -> Sample:
    if len(found) != 1:
        raise UsageError(f"{path} holds {len(found)} samples", "grade folders on the command line")
    return found[0]


def _line(finding: Finding, *, said: bool) -> str:
    """Return a finding in one line; only its name where the verdict's sentence has `said` it."""
    where = f"line {finding.place.line}: " if finding.place else ""
    after = " (seen after a fix)" if finding.after_fix else ""
    return f"{finding.severity} {finding.rule} {where}{finding.name if said else finding.message}{after}"
