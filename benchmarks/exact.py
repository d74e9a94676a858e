"""What exact arithmetic says of right and of wrong programs.

    python benchmarks/exact.py [--only right,corpus,attacks] [--most N] [FOLDER ...]

Judges labelled programs, and answers to KernelBench in FOLDERS (`--tasks` has its problems), on `sim` with `--exact`.
Prints a line for each, then how many of each verdict were shown equal. A program counts as wrong where its verdict is
`incorrect`: 0 of them may be shown equal, but for those that are wrong by rounding alone.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter, defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import rule_use

from grader import pipeline
from grader.config import Options
from grader.pipeline.review import assess
from grader.store import Store


def judged(program: rule_use.Program) -> tuple[str, str]:
    """Return the verdict of a program, and what exact arithmetic says."""
    options = Options(
        device="sim",
        exact=True,
        repair=False,
        task=program.task,
        tasks=program.tasks,
        policy=program.policy,
    )
    grading = pipeline.open_context(options, Store(), rule_use.SEED)
    evaluation = assess(grading, program.sample).evaluation
    exact, seconds = evaluation.exact, evaluation.seconds
    said = exact.algebraic if exact else "not asked"
    extent = f"{exact.unequal}/{exact.elements} {exact.reason[:120]}" if exact else ""
    took = f"{seconds.get('exact', 0):.1f} s beside {seconds.get('run', 0):.1f} s"
    print(program.name, evaluation.verdict.status, said, extent, took, flush=True)
    return evaluation.verdict.status, said


def main() -> None:
    """Judge what was asked for, in an order by chance that is always the same."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--tasks", type=Path)
    parser.add_argument("--most", type=int, default=1000)
    asked = parser.parse_args()
    groups = [group for group in asked.only.split(",") if group]
    chosen = rule_use.programs(groups, asked.folders, asked.tasks)
    random.Random(0).shuffle(chosen)
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for program in chosen[: asked.most]:
        status, said = judged(program)
        found[status][said] += 1
    for status, counts in sorted(found.items()):
        print(status, dict(counts))


if __name__ == "__main__":
    main()
