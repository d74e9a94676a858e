"""Reference-fixed kernels judged like any answer: of tasks, of their forms in half precision, of their gradients.

    python benchmarks/judged_kernels.py [--device cuda] [--fast] [--forms | --gradients] [--jobs N] [NAME ...]

One line a task: its verdict, and why where it is not right in general. `--forms` takes each task's half forms as well,
`--gradients` its form with gradients. Of kernels in two forms the plain one is judged, or with `--fast` the fast one. Names may be patterns. Exits with 1 where a kernel is not right.
"""

from __future__ import annotations

import argparse
import fnmatch
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from grader.config import Options
from grader.pipeline import open_context
from grader.pipeline.context import GradingContext
from grader.pipeline.evaluation import evaluate
from grader.records import Task
from grader.repair.compose import UncoveredError
from grader.repair.reference import compose_for_task, gradients_code, program, reference_code
from grader.repair.with_gradients import formulas, join_passes
from grader.store import Store
from grader.tasks import builtin_tasks, task_named
from grader.tasks.precision import forms


def main() -> int:
    """Judge all that are asked for, and print a line for each."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("names", nargs="*", default=["*"])
    parser.add_argument("--device", default="sim")
    parser.add_argument("--fast", action="store_true")
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument("--forms", action="store_true")
    kind.add_argument("--gradients", action="store_true")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    grading = open_context(Options(device=options.device, timing=False), Store(), 1)
    tasks = list(asked(options.names, halves=options.forms, gradients=options.gradients))
    judge = partial(judged, grading, fast=options.fast, gradients=options.gradients)
    right = 0
    with ThreadPoolExecutor(options.jobs) as pool:
        for task, (well, said) in zip(tasks, pool.map(judge, tasks), strict=True):
            print(f"{task.name}: {said}", flush=True)
            right += well
    print(f"{right} of {len(tasks)} right")
    return int(right < len(tasks))


def asked(patterns: Sequence[str], *, halves: bool, gradients: bool) -> Iterator[Task]:
    """Yield the tasks of these names; those with a kernel for their gradients alone where these are asked."""
    for name, task in builtin_tasks().items():
        if not any(fnmatch.fnmatch(name, pattern) for pattern in patterns):
            continue
        if gradients and name not in formulas():
            continue
        yield from forms(task) if halves else (task,)


def judged(grading: GradingContext, task: Task, *, fast: bool, gradients: bool) -> tuple[bool, str]:
    """Return whether a task's kernel is right, and what is said of it."""
    try:
        code = reference_code(task, "fast" if fast else "plain")
        code = code or compose_for_task(task, grading.form).code
        if gradients:
            code = join_passes(task, code, gradients_code(task, grading.form))
            task = task_named(f"{task.name}-backward", None)
    except UncoveredError as error:
        return False, f"no kernel: {error}"
    verdict = evaluate(grading, program(code, task.name), task).verdict
    return verdict.status == "correct", f"{verdict.status}. {verdict.sentence}"


if __name__ == "__main__":
    sys.exit(main())
