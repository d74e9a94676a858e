"""The plain reference-fixed kernel of each built-in task, put through `evaluate` on `sim` (or `cuda`).

    nice python benchmarks/plain_kernels.py [--device sim] [--keep FILE] [part of a name ...]

Prints a table as it goes: task, family, lines of CUDA, verdict, right in general, seconds. `--keep` writes each row to a
JSONL file, and a later run with the same file goes on where that one stopped. Exits with 1 where a task has no such
kernel, where it is not correct or not right in general, or where a plain one has more than 80 lines.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from grader import pipeline
from grader.config import Options
from grader.pipeline.context import GradingContext
from grader.pipeline.evaluation import evaluate_draft
from grader.records import Task
from grader.repair.families.kernels import MOST_LINES, cuda_lines
from grader.repair.reference import program, reference_code
from grader.store import Store
from grader.tasks import builtin_tasks

SEED = 20260101
Row = dict[str, str | int | float]


def row(grading: GradingContext, task: Task) -> Row:
    """Return what one task's kernel came to."""
    begin = time.monotonic()
    code = reference_code(task)
    said: Row = {"verdict": "none", "general": "", "sentence": "no plain form"}
    if code is not None:
        verdict = evaluate_draft(grading, program(code, task.name), task).verdict
        said |= {"verdict": verdict.status, "sentence": verdict.sentence}
        said |= {"general": str(verdict.general)}
    lines = len(cuda_lines(code or ""))
    seconds = round(time.monotonic() - begin, 1)
    return {"task": task.name, "family": task.family, "lines": lines, **said, "seconds": seconds}


def right(one: Row) -> bool:
    """Whether the kernel is what it should be."""
    fits = int(one["lines"]) <= MOST_LINES
    return one["verdict"] == "correct" and one["general"] == "True" and fits


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--device", default="sim")
    parser.add_argument("--keep", type=Path)
    chosen = parser.parse_intermixed_args()
    kept = chosen.keep.read_text().splitlines() if chosen.keep and chosen.keep.exists() else []
    found: list[Row] = [json.loads(line) for line in kept]
    known = {one["task"] for one in found}
    options = Options(
        device=chosen.device, repair=False, build_seconds=600.0, run_seconds=600.0, fresh=True
    )
    grading = pipeline.open_context(options, Store(), SEED)
    print(
        "| task | family | lines | verdict | general | seconds | said |\n|---|---|---|---|---|---|---|"
    )
    for name, task in builtin_tasks().items():
        if name in known or (chosen.names and not any(part in name for part in chosen.names)):
            continue
        one = row(grading, task)
        found.append(one)
        keys = ("task", "family", "lines", "verdict", "general", "seconds", "sentence")
        print("|", " | ".join(str(one[key]) for key in keys), "|", flush=True)
        if chosen.keep:
            with chosen.keep.open("a") as file:
                file.write(json.dumps(one) + "\n")
    passed = sum(right(one) for one in found)
    print(f"\n{passed} of {len(found)} are as they should be.")
    return 0 if passed == len(found) else 1


if __name__ == "__main__":
    sys.exit(main())
