"""What a repair costs: candidates generated and run, programs evaluated, CPU seconds, for programs with a seeded defect.

    python benchmarks/repair_search.py [--every N] [--start K] [--out FILE] [part of a name ...]

Grades labelled programs of tests/corpus/ on `sim`, each in a process of its own, and counts within the search for a
repair: evaluations, woven builds, candidates that a screening knew, calls that it ran, and the rank of the candidate
that was taken among all (0: the repair has none). CPU seconds are those of the process and all below it.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import sys
from concurrent.futures import ProcessPoolExecutor
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path
from statistics import median, quantiles
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from grader import pipeline
from grader.config import Options
from grader.pipeline import repairs
from grader.pipeline.review import review
from grader.records import Sample
from grader.repair.candidates.screen import Screen
from grader.store import Store
from tests.corpus import corpus

SEED = 20260101
guessing: Any = import_module("grader.repair.candidates.rounds")
search: Any = import_module("grader.repair.search")
PR_SET_CHILD_SUBREAPER = 36
"""Makes what a daemon leaves behind count as below the process that measures."""
COUNTS = ("evaluations", "builds", "known", "calls", "rank", "cpu")


def cpu_of(pid: int) -> float:
    """Return the CPU seconds of a process, what it waited for, and all that live below it."""
    ticks = os.sysconf("SC_CLK_TCK")
    rows = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            rows[int(entry.name)] = int(fields[1]), sum(map(int, fields[11:15])) / ticks
    total, todo = 0.0, [pid]
    while todo:
        here = todo.pop()
        total += rows.get(here, (0, 0.0))[1]
        todo += [child for child, (parent, _) in rows.items() if parent == here]
    return total


def measured(name: str) -> dict[str, Any]:
    """Grade one program, and return what its search did."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    label = next(one for one in corpus.mutants() if one.name == name)
    row: dict[str, Any] = {"name": name} | dict.fromkeys(COUNTS, 0)
    _count_evaluations(row)
    _count_candidates(row)
    options = Options(device="sim", repair=True, task=label.task)
    grading = pipeline.open_context(options, Store(), SEED)
    made = review(grading, Sample(id=name, origin=name, format="python", text=label.code))
    fix = next((one for one in made.repairs if one.kind == "fix"), None)
    row |= {
        "status": made.verdict.status,
        "fixed": fix is not None,
        "settles": [list(one) for one in fix.settles] if fix else [],
        "note": made.repair_note,
    }
    return row


def _count_evaluations(row: dict[str, Any]) -> None:
    examine, find = repairs.Candidates.examine, repairs.find_fix

    def counted(self: repairs.Candidates, submission: Any) -> Any:
        row["evaluations"] += submission.key not in self.evaluations
        return examine(self, submission)

    def timed(*arguments: Any) -> Any:
        begin = cpu_of(os.getpid())
        try:
            return find(*arguments)
        finally:
            row["cpu"] += round(cpu_of(os.getpid()) - begin, 1)

    repairs.Candidates.examine = counted  # type: ignore[method-assign]
    repairs.find_fix = timed


def _count_candidates(row: dict[str, Any]) -> None:
    build, run, guess = Screen.build, Screen.run, guessing.guess
    known: list[str] = []
    candidates = guessing.candidates

    def built(self: Screen, woven: Any) -> Any:
        row["builds"] += 1
        return build(self, woven)

    def ran(self: Screen, woven: Any, made: Any, workloads: Any, numbers: Any, *rest: Any) -> Any:
        row["calls"] += len(workloads) * len(numbers)
        return run(self, woven, made, workloads, numbers, *rest)

    def listed(*arguments: Any) -> Any:
        found = candidates(*arguments)
        known[:] = [one.label for one in found]
        row["known"] += len(found)
        return found

    def guessed(*arguments: Any) -> Any:
        found = guess(*arguments)
        labels = [fix.label for fix in found.fixes]
        if found.decides and labels and labels[0] in known:
            row["rank"] = known.index(labels[0]) + 1
        return found

    Screen.build, Screen.run = built, ran  # type: ignore[method-assign]
    guessing.candidates, search.guess = listed, guessed


def report(rows: list[dict[str, Any]]) -> None:
    """Print the table and the medians over the programs whose search tried small changes."""
    wrong = [row for row in rows if row["status"] not in {"correct", "not_run", "grader_error"}]
    searched = [row for row in wrong if row["known"]]
    print(f"{sum(row['fixed'] for row in wrong)} of {len(wrong)} wrong programs with a repair; ")
    print(f"{len(searched)} tried small changes, {sum(row['fixed'] for row in searched)} repaired")
    for what, some in (("all", wrong), ("searched", searched)):
        for count in COUNTS:
            values = [row[count] for row in some if row[count] or count != "rank"]
            if len(values) > 1:
                ninth = quantiles(values, n=10)[-1]
                print(
                    f"| {what} | {count} | {median(values):.0f} | {ninth:.0f} | {sum(values):.0f} |"
                )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--every", type=int, default=6)
    parser.add_argument("--start", type=int, default=0)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    chosen = [
        one.name
        for one in corpus.mutants()[given.start :: given.every]
        if not given.names or any(part in one.name for part in given.names)
    ]
    rows = []
    with ProcessPoolExecutor(1, get_context("spawn"), max_tasks_per_child=1) as pool:
        for row in pool.map(measured, chosen):
            rows.append(row)
            print(json.dumps(row), flush=True)
            if given.out:
                with given.out.open("a") as kept:
                    kept.write(json.dumps(row) + "\n")
    report(rows)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
