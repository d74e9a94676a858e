"""A reference-fixed kernel in two forms: the plain one is shown, the fast one is linked with what it gains."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from grader.records import Form, Repair, Review, Timing
from grader.report import html, markdown
from grader.report.folder import RunFolder
from grader.report.gain import gain
from grader.report.rows import row
from tests.report.conftest import Make


def timing(median: float) -> Timing:
    return Timing(
        what="submission",
        workload="4x4",
        median=median,
        low=median,
        high=median,
        iqr=0.0,
        samples=9,
        converged=True,
    )


def timed(repair: Repair, form: Form, median: float | None) -> Repair:
    timings = () if median is None else (timing(median),)
    evaluation = repair.evaluation.model_copy(update={"timings": timings})
    code = f"# {form}\n{repair.code}"
    return repair.model_copy(update={"form": form, "code": code, "evaluation": evaluation})


def with_forms(review: Review, **medians: float | None) -> Review:
    other = tuple(one for one in review.repairs if one.kind != "reference")
    shown = review.reference
    assert shown is not None
    forms: tuple[Form, ...] = ("plain", "fast")
    both = tuple(timed(shown, form, medians[form]) for form in forms if form in medians)
    return review.model_copy(update={"repairs": other + both})


def files(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text().split("\n")[0] for path in (folder / "repairs").iterdir()}


def test_both_forms_are_files_and_rows(tmp_path: Path, make_review: Make) -> None:
    review = with_forms(make_review("a"), plain=None, fast=None)
    RunFolder(tmp_path).add(review, "key")
    found = files(tmp_path)
    assert (found["a.reference.py"], found["a.reference.fast.py"]) == ("# plain", "# fast")
    made = row(review)
    assert made["reference_fixed"]["form"] == "plain"
    assert made["reference_fast"]["form"] == "fast"


def test_the_only_form_is_the_one_that_is_shown(tmp_path: Path, make_review: Make) -> None:
    folder = RunFolder(tmp_path)
    folder.add(with_forms(make_review("a"), plain=None, fast=None), "key")
    folder.add(with_forms(make_review("a"), fast=None), "key")
    assert "a.reference.fast.py" not in files(tmp_path)
    assert files(tmp_path)["a.reference.py"] == "# fast"
    assert row(with_forms(make_review("a"), fast=None))["reference_fast"] is None


def test_the_fast_form_is_linked_with_what_it_gains(make_review: Make) -> None:
    review = with_forms(make_review("a"), plain=3.0, fast=1.5)
    said = "2.0 times as fast: 1.5 ms a call instead of 3 ms, measured on 4x4"
    assert gain(review) == said
    for text in (markdown.render(review), html.page(review)):
        assert f"{said}." in text
        assert f"{said}.." not in text
        assert "a.reference.fast.py" in text
        assert "# fast" not in text  # linked, not shown
    ids = re.findall(r'\bid="([^"]+)"', html.page(review))
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize(
    "medians", [{"plain": None, "fast": 1.0}, {"plain": 1.0, "fast": None}, {"fast": 1.0}]
)
def test_no_gain_without_both_measurements(
    medians: dict[str, float | None], make_review: Make
) -> None:
    review = with_forms(make_review("a"), **medians)
    assert gain(review) == ""
    assert "times as fast" not in markdown.render(review)
