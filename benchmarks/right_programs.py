"""What is said of right programs: errors from their text alone, errors and verdicts after their runs.

    python benchmarks/right_programs.py [--only right,originals,triton,causes,references,twins] [--tasks FOLDER] [--jobs N] [--seconds S] [--write FILE] [FOLDER ...]

Labelled programs that are right (CUDA: right and originals, Triton: triton), right ones that look like known wrong ones
(causes), the reference-fixed kernels of the built-in tasks, honest look-alikes of attacks, and the answers in FOLDERS,
which must hold right ones alone. Each is read alone, and graded on `sim` without repair. Prints those of which something
false is said: an error from the text, an error or a verdict other than `correct` after the runs; then the shares.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import exact
import rule_use

from grader import pipeline
from grader.config import Options
from grader.pipeline.context import GradingContext
from grader.pipeline.review import review
from grader.records import Review
from grader.store import Store

GROUPS = ("right", "originals", "triton", "causes", "references", "twins")


@dataclass(frozen=True)
class Row:
    """What is said of a right program."""

    name: str
    status: str
    sentence: str
    text: tuple[str, ...]
    """Errors from its text alone."""
    runs: tuple[str, ...]
    """Errors after its runs."""

    @property
    def wronged(self) -> bool:
        """Whether anything false is said after its runs."""
        return bool(self.runs) or self.status != "correct"


def right_programs(
    groups: Sequence[str], folders: Sequence[Path], tasks: Path | None
) -> Iterator[rule_use.Program]:
    """Yield the right programs of some groups and folders."""
    from benchmarks.causes import set as causes
    from tests.attacks import suite
    from tests.corpus import corpus

    labelled = {
        "originals": corpus.originals(),
        "triton": [*corpus.originals("triton"), *corpus.variants("triton")],
        "causes": list(causes.right_programs()),
        "twins": [one for one in suite.twins() if one.policy == "any"],
    }
    for group in groups:
        for one in labelled.get(group, ()):
            yield exact.program(f"{group}/{one.name}", one.code, one.task)
    yield from exact.chosen(
        [one for one in groups if one in {"right", "references"}], folders, tasks
    )


def said_of(grading: GradingContext, reading: GradingContext, program: rule_use.Program) -> Row:
    """Return what is said of a program, of its text alone and after its runs."""
    changed = {"task": program.task, "tasks": program.tasks}
    text, runs = (
        review(replace(one, options=one.options.model_copy(update=changed)), program.sample)
        for one in (reading, grading)
    )
    verdict = runs.verdict
    return Row(program.name, verdict.status, verdict.sentence[:300], _errors(text), _errors(runs))


def _errors(one: Review) -> tuple[str, ...]:
    found = (item for item in one.findings if item.severity == "error")
    return tuple(f"{item.rule}: {item.message[:160]}" for item in found)


def main() -> None:
    """Read and grade what was asked for, in an order by chance that is always the same."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--only", default=",".join(GROUPS))
    parser.add_argument("--tasks", type=Path)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=36000, help="begin no other after these")
    parser.add_argument("--write", type=Path)
    asked = parser.parse_args()
    programs = list(right_programs(asked.only.split(","), asked.folders, asked.tasks))
    random.Random(0).shuffle(programs)
    store = Store()
    sim = pipeline.open_context(Options(device="sim", repair=False), store, rule_use.SEED)
    none = pipeline.open_context(Options(device="none", repair=False), store, rule_use.SEED)
    end = time.monotonic() + asked.seconds

    def one_row(program: rule_use.Program) -> Row | None:
        return said_of(sim, none, program) if time.monotonic() < end else None

    with ThreadPoolExecutor(asked.jobs) as pool:
        rows = [row for row in pool.map(one_row, programs) if row]
    report(rows, len(programs))
    if asked.write:
        asked.write.write_text(json.dumps([asdict(row) for row in rows], indent=1), "utf-8")


def report(rows: Sequence[Row], asked: int) -> None:
    """Print each program of which something false is said, and the shares."""
    for row in rows:
        for one in row.text:
            print(f"{row.name}, text alone: {one}")
        if row.wronged:
            print(f"{row.name} is {row.status}: {row.sentence} {' '.join(row.runs)}")
    count = max(1, len(rows))
    text, runs = sum(bool(row.text) for row in rows), sum(row.wronged for row in rows)
    print(
        f"{len(rows)} of {asked} right programs: {text} with an error from the text alone ({text / count:.1%}), "
    )
    print(
        f"{runs} with an error or another verdict than correct after their runs ({runs / count:.1%})"
    )


if __name__ == "__main__":
    main()
