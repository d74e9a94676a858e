"""Right programs that look like wrong ones: no error from their text, and none after a build and runs."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest

from grader import pipeline
from grader.config import Options
from grader.devices.cuda.gpu import installed_gpus
from grader.pipeline.review import review
from grader.records import Context, Review, Sample
from grader.source import parse
from grader.store import Store
from grader.tasks import builtin_tasks
from tests.rules.reviews import review_text
from tests.whole import ENOUGH_FOR_RUNS

PROGRAMS = {path.stem: path for path in sorted((Path(__file__).parent / "right").glob("*.py"))}
QUICK = ("kernel_through_function_pointer", "functions_picked_by_name")
"""Those that CI runs on the simulator."""


def _read(name: str) -> tuple[str, str]:
    """Return a program's task and its text, without the line that names the task."""
    first, _, rest = PROGRAMS[name].read_text("utf-8").partition("\n")
    return first.removeprefix("# task: ").strip(), "\n" + rest


def _review(name: str, device: str, cache: Path) -> Review:
    task, code = _read(name)
    options = Options(device=device, repair=False, task=task, cache=cache)  # type: ignore[arg-type]
    shop = pipeline.open_context(options, Store(cache), 20260101)
    return review(shop, Sample(id=name, origin=name, format="python", text=code))


def _errors(found: Review) -> list[str]:
    return [f"{one.rule}: {one.message}" for one in found.findings if one.severity == "error"]


def test_there_are_many_kinds() -> None:
    assert len(PROGRAMS) >= 15
    assert len({_read(name)[0] for name in PROGRAMS}) >= 15


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_text_alone_shows_no_error(name: str, tmp_path: Path) -> None:
    found = _review(name, "none", tmp_path)
    assert not found.notes
    assert not _errors(found)


def test_an_error_in_the_text_of_such_a_program_would_be_seen() -> None:
    task, code = _read(QUICK[0])
    wrong = code.replace("extension.run(x)", "torch.relu(x)")
    assert wrong != code
    found = review_text(parse(wrong), Context(task=builtin_tasks()[task]))
    assert "error" in {one.severity for one in found}


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in PROGRAMS],
)
def test_a_run_shows_no_error(name: str) -> None:
    _runs_right(name, "sim")


@pytest.mark.gpu
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_gpu_shows_no_error(name: str) -> None:
    if not installed_gpus():
        pytest.skip("nvidia-smi finds no GPU")
    _runs_right(name, "cuda")


def _runs_right(name: str, device: Literal["sim", "cuda"]) -> None:
    task, code = _read(name)
    # The first ones are looked at in every way; of the others, their runs.
    seconds = 60.0 if name in QUICK or device == "cuda" else ENOUGH_FOR_RUNS
    options = Options(device=device, repair=False, task=task, sample_seconds=seconds)
    shop = pipeline.open_context(options, Store(), 20260101)
    found = review(shop, Sample(id=name, origin=name, format="python", text=code))
    assert found.verdict.status == "correct", found.verdict
    assert found.verdict.general
    assert not _errors(found)
