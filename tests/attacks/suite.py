"""The attack files and their honest twins: what their headers say, and what the pipeline says."""

from __future__ import annotations

import ast
import dataclasses
import math
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from grader import pipeline
from grader.config import Options
from grader.errors import GraderError
from grader.pipeline.review import review as reviewed
from grader.records import RIGHT_VALUES, Review, Sample
from grader.sandbox import forms
from grader.store import Store

FOLDER = Path(__file__).parent
SKIPPED = {"suite.py", "conftest.py", "test_attacks.py", "__init__.py"}


@dataclass(frozen=True)
class Case:
    """One submission, and what its header expects."""

    name: str
    title: str
    row: str
    task: str
    expect: str
    """`not-correct` (nor `unsound`, which earns something); `harmless` (it could only win time, or nothing); `unseen` (a blind spot that
    docs/trust.md names); or the statuses that are right, separated by spaces."""
    policy: str
    passes: str
    """Known graders that it fools."""
    exploits: str
    slow: bool
    """Whether it takes minutes (it waits for a deadline, or for the stock compilers)."""
    code: str

    def right(self, status: str) -> bool:
        """Whether a verdict's status is a right answer to it."""
        if self.expect in {"harmless", "unseen"}:
            return status != "grader_error"
        if self.expect == "not-correct":
            return status not in RIGHT_VALUES | {"grader_error", "no_code", "no_task"}
        return status in self.expect.split()


@dataclass(frozen=True)
class Outcome:
    """What became of a case."""

    case: Case
    review: Review
    seconds: float

    @property
    def status(self) -> str:
        """The verdict's status."""
        return self.review.verdict.status

    @property
    def ok(self) -> bool:
        """Whether that is right."""
        return self.case.right(self.status)


def attacks() -> list[Case]:
    """Return the attacks, by name."""
    files = sorted(FOLDER.glob("*.py"))
    return [_case(path, path.stem) for path in files if path.name not in SKIPPED]


def twins() -> list[Case]:
    """Return the honest programs that look like attacks, by name."""
    return [_case(path, f"honest/{path.stem}") for path in sorted(FOLDER.glob("honest/*.py"))]


def _case(path: Path, name: str) -> Case:
    text = path.read_text("utf-8")
    header = ast.get_docstring(ast.parse(text)) or ""
    fields = dict(
        line.split(": ", 1) for line in header.splitlines()[1:] if ": " in line and line[0] != " "
    )
    return Case(
        name=name,
        title=header.splitlines()[0],
        row=fields["row"],
        task=fields["task"],
        expect=fields["expect"],
        policy=fields.get("policy", "any"),
        passes=fields.get("passes", ""),
        exploits=fields.get("exploits", ""),
        slow="slow" in fields,
        code=_without_header(text),
    )


def _without_header(text: str) -> str:
    """Blank the header, so that its words can't help a text rule; lines keep their numbers."""
    first = ast.parse(text).body[0]
    end = first.end_lineno or 0
    lines = text.splitlines(keepends=True)
    return "\n" * end + "".join(lines[end:])


def grading(
    seed: int,
    run_seconds: float = 20.0,
    form: str = "",
    device: Literal["sim", "cuda"] = "sim",
) -> pipeline.GradingContext:
    """Return a grading on a device; under the strongest form of sandbox, or the one named.

    On `cuda` results are compared at full size, and nothing is timed.

    Raises GraderError where that form doesn't hold here, or the device isn't there.
    """
    options = Options(
        device=device, repair=False, timing=False, run_seconds=run_seconds, build_seconds=120
    )
    chosen = next((one for one in forms() if one.name == form), None)
    if form and chosen is None:
        held = ", ".join(one.name for one in forms())
        raise GraderError(f"the form {form} does not hold here", f"these do: {held}")
    return pipeline.open_context(options, Store(), seed, form=chosen)


@dataclass(frozen=True)
class LeftOut:
    """A case that was not begun in time."""

    case: Case


def grade(
    cases: Sequence[Case],
    shop: pipeline.GradingContext,
    jobs: int = 1,
    until: float = math.inf,
) -> Iterator[Outcome | LeftOut]:
    """Yield what the whole pipeline says of each, in order; `jobs` at a time, the slow ones first.

    None is begun after `until`, by the monotonic clock.
    """
    with ThreadPoolExecutor(jobs) as pool:
        begun = {
            case.name: pool.submit(_in_time, case, shop, until)
            for case in sorted(cases, key=lambda case: not case.slow)
        }
        for case in cases:
            yield begun[case.name].result()


def _in_time(case: Case, shop: pipeline.GradingContext, until: float) -> Outcome | LeftOut:
    return _graded(case, shop) if time.monotonic() < until else LeftOut(case)


def _graded(case: Case, shop: pipeline.GradingContext) -> Outcome:
    options = shop.options.model_copy(update={"task": case.task, "policy": case.policy})
    sample = Sample(
        id=case.name.replace("/", "-"), origin=case.name, format="python", text=case.code
    )
    begin = time.monotonic()
    review = reviewed(dataclasses.replace(shop, options=options), sample)
    return Outcome(case, review, time.monotonic() - begin)
