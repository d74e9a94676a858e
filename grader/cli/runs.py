"""Commands that read a run folder; none of them runs a kernel."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from grader.cli.app import GATE, GRADED, app, errors, out, plain
from grader.cli.checks import plural, run_folder
from grader.errors import UsageError

WITHOUT_IDS = (
    "nothing to write: no sample of this run has KernelBench's level and problem "
    "(file names such as level_1_problem_39_sample_0_kernel.py, or `level` and `problem_id` in a record)"
)


@app.command
def report(run: Path) -> int:
    """Render a run folder's reports again, without running anything.

    Parameters
    ----------
    run
        A folder that a grading wrote.

    """
    from grader.report.folder import RunFolder

    folder = RunFolder(run_folder(run))
    with folder.claim():
        for review in folder.reviews():
            folder.render(review)
        count = len(folder.write_index())
    out.print(f"{plural(count, 'review')} rendered in {plain(str(run))}")
    return GRADED


@app.command
def compare(
    before: Path,
    after: Path,
    *,
    html: Path | None = None,
    fail_on: Literal["regression", "never"] = "never",
) -> int:
    """Compare two run folders, paired by sample.

    Parameters
    ----------
    before
        The older run folder.
    after
        The newer run folder.
    html
        Also write the comparison as a page to this file; its links lead to both runs' pages.
    fail_on
        Exit with 1 when a sample that was right before is wrong after.

    """
    from grader.compare import compare as compared
    from grader.report import moved
    from grader.report.folder import RunFolder

    result = compared(*(RunFolder(run_folder(run)).reviews() for run in (before, after)))
    sys.stdout.write(moved.render(result))
    if html is not None:
        from grader.report.html.moved import write

        write(result, html, before, after)
    return GATE if fail_on == "regression" and result.count("newly wrong") else GRADED


@app.command
def score(run: Path) -> int:
    """Print a run's scores as JSON: correctness, fast_p, pass@k, speed-up, each with its interval.

    Parameters
    ----------
    run
        A folder that a grading wrote.

    """
    from grader.report.entry import entry
    from grader.report.folder import RunFolder
    from grader.stats import scores

    made = scores(map(entry, RunFolder(run_folder(run)).reviews()))
    sys.stdout.write(made.model_dump_json(indent=2) + "\n")
    return GRADED


@app.command
def kernelbench(run: Path, *, own_tolerance: bool = False) -> int:
    """Print a run as KernelBench's own eval_results.json.

    Parameters
    ----------
    run
        A folder that a grading wrote, of samples with KernelBench's file names.
    own_tolerance
        Judge by KernelBench's tolerance instead of ours.

    """
    from grader.report import kernelbench as format_
    from grader.report.folder import RunFolder

    text = format_.render(RunFolder(run_folder(run)).reviews(), own_tolerance=own_tolerance)
    if text.strip() == "{}":
        errors.print(WITHOUT_IDS, highlight=False, soft_wrap=True)
    sys.stdout.write(text)
    return GRADED


@app.command
def show(
    review: Path, *, all_: Annotated[bool, Parameter(name="--all", negative=())] = False
) -> int:
    """Show a review in the terminal.

    Parameters
    ----------
    review
        A markdown file of a run folder.
    all_
        Show folded parts too: notes, whole files, logs.

    """
    from rich.markdown import Markdown

    from grader.report.terminal import terminal

    if not review.is_file():
        raise UsageError(f"no review at {review}", "name a .md file of a run folder")
    text = terminal(review.read_text("utf-8", "replace"), everything=all_)
    out.print(Markdown(text, hyperlinks=False))
    return GRADED
