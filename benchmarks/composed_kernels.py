"""The kernels that are composed for traced problem files, each put through `evaluate` on `sim`.

    python benchmarks/composed_kernels.py FOLDER [--keep FILE] [--jobs 2] [--codes DIR] [part of a name ...]

Prints a table: problem, families, verdict, seconds. `--keep` writes each row to a JSONL file as it comes, and a later
run with the same file goes on where that one stopped. `--codes` keeps the programs. Exits with 1 where a kernel that
was written is not correct.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from grader import pipeline
from grader.config import Options
from grader.pipeline.evaluation import evaluate_draft
from grader.records import Evaluation, Submission, Task
from grader.repair.coverage import Covered, cover_problem, problems
from grader.store import Store

SEED = 20260101


def rows(chosen: argparse.Namespace, known: set[str]) -> Iterator[Covered]:
    """Evaluate the kernels of the problems that aren't known yet, in order."""
    options = Options(device="sim", repair=False, build_seconds=600.0, run_seconds=120.0)
    shop = pipeline.open_context(options, Store(), SEED)

    def judged(task: Task, program: Submission) -> Evaluation:
        if chosen.codes:
            (chosen.codes / f"{program.sample}.py").write_text(program.code)
        return evaluate_draft(shop, program, task)

    wanted = [
        (path, task)
        for path, task in problems(chosen.folder)
        if _name(path) not in known
        and (not chosen.names or any(part in _name(path) for part in chosen.names))
    ]
    with ThreadPoolExecutor(chosen.jobs) as pool:
        yield from pool.map(lambda one: cover_problem(*one, shop.form, judged), wanted)


def _name(path: Path) -> str:
    return f"{path.parent.name}/{path.stem}"


def _row(one: Covered) -> dict[str, str | float]:
    return {
        "problem": _name(one.path),
        "families": " + ".join(one.families),
        "verdict": one.verdict or "not covered",
        "seconds": round(one.seconds, 1),
        "said": one.reason,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--codes", type=Path)
    parser.add_argument("--jobs", type=int, default=2)
    chosen = parser.parse_intermixed_args()
    if chosen.codes:
        chosen.codes.mkdir(parents=True, exist_ok=True)
    kept = chosen.keep.read_text().splitlines() if chosen.keep and chosen.keep.exists() else []
    found = [json.loads(line) for line in kept]
    print("| problem | families | verdict | seconds | said |\n|---|---|---|---|---|")
    for row in found:
        print(_shown(row))
    for one in rows(chosen, {row["problem"] for row in found}):
        found.append(row := _row(one))
        print(_shown(row), flush=True)
        if chosen.keep:
            with chosen.keep.open("a") as file:
                file.write(json.dumps(row) + "\n")
    counts = Counter(row["verdict"] for row in found)
    print(f"\n{len(found)} problems: " + ", ".join(f"{n} {what}" for what, n in counts.items()))
    return 0 if set(counts) <= {"correct", "not covered"} else 1


def _shown(row: dict[str, str | float]) -> str:
    said = "" if row["verdict"] == "correct" else str(row["said"]).replace("|", "/")
    return (
        f"| {row['problem']} | {row['families']} | {row['verdict']} | {row['seconds']} | {said} |"
    )


if __name__ == "__main__":
    raise SystemExit(main())
