"""What whole answers take on the simulator: answers a second, and the spread, beside another version of this tree.

    python benchmarks/answer_times.py ANSWERS PROBLEMS [--against TREE] [--jobs 16]

ANSWERS and PROBLEMS are as in `charged_failures.py`; TREE is a folder of an earlier version's files. Each version gets a cache of
its own, in which one sample of ours is graded first, so that headers and simulator are prepared; of the answers and their
problems nothing is known. No repair. Runs: the other version, this one, and this one with `--settle-early`, as a reward is computed. Prints
for each the wall time, answers a second, and the median, p90, p99 and longest seconds of an answer (its stages, summed, with all
jobs at work), how many of the wrong ones took at most `SETTLED` seconds, and the verdicts that differ from the first run's.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median, quantiles
from typing import Any

from charged_failures import copied, found
from run_folder import ROOT

SETTLED = 2.0
"""Seconds in which nine of ten wrong answers should be settled."""


@dataclass(frozen=True)
class Run:
    """One version's run over all answers."""

    name: str
    wall: float
    rows: Mapping[str, Mapping[str, Any]]


def main() -> int:
    """Run all; print a block for each."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("answers", type=Path)
    parser.add_argument("problems", type=Path)
    parser.add_argument("--against", type=Path, help="an earlier version's files")
    parser.add_argument("--only", default="*", help="glob of file names")
    parser.add_argument("--jobs", default="16")
    parser.add_argument("--most-seconds", type=float, help="of one run, which is interrupted then")
    options = parser.parse_args()
    trees = [("before", options.against.resolve())] if options.against else []
    with tempfile.TemporaryDirectory(prefix="answer-times-") as name:
        room = Path(name)
        room.chmod(0o755)
        copied(found(options.answers, options.problems, options.only), room / "answers")
        first = None
        asked = (*trees, ("now", ROOT), ("settle-early", ROOT, "--settle-early"))
        for name_of_run, tree, *more in asked:
            run = graded(name_of_run, tree, room, options, *more)
            first = first or run
            print(told(run, first), flush=True)
    return 0


def graded(name: str, tree: Path, room: Path, options: argparse.Namespace, *more: str) -> Run:
    """Grade all answers with a version's own files."""
    cache, out = room / f"cache-{name}", room / f"out-{name}"
    words = ["--device", "sim", "--no-repair", "--cache", str(cache), "--jobs", options.jobs]
    _start(tree, [str(tree / "samples" / "gelu_vectorized.txt"), *words], room / f"first-{name}")
    began = time.monotonic()
    problems = str(options.problems.resolve())
    call = [str(room / "answers"), "--tasks", problems, *words, *more]
    _start(tree, call, out, options.most_seconds)
    wall = time.monotonic() - began
    rows = out / "results.jsonl"
    lines = rows.read_text("utf-8").splitlines() if rows.is_file() else []
    return Run(name, wall, {row["sample"]: row for row in map(json.loads, lines)})


def _start(tree: Path, words: Sequence[str], out: Path, most: float | None = None) -> None:
    """Run a version's program; interrupt it after `most` seconds, which keeps what is finished."""
    own = {**os.environ, "PYTHONPATH": str(tree)}
    call = [sys.executable, str(tree / "grade.py"), *words, "--out", str(out)]
    with subprocess.Popen(call, cwd=out.parent, env=own, stdout=sys.stderr) as process:
        try:
            process.wait(most)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGINT)


def told(run: Run, first: Run) -> str:
    """Return a run's block."""
    seconds = sorted(sum(row["seconds"].values()) for row in run.rows.values()) or [0.0]
    wrong = [row for row in run.rows.values() if row["status"] != "correct"]
    quick = sum(sum(row["seconds"].values()) <= SETTLED for row in wrong)
    cuts = quantiles(seconds if len(seconds) > 1 else seconds * 2, n=100, method="inclusive")
    differ = [
        f"  {name}: {first.rows[name]['status']}, here {row['status']}"
        for name, row in sorted(run.rows.items())
        if name in first.rows and row["status"] != first.rows[name]["status"]
    ]
    head = (
        f"{run.name}: {len(run.rows)} answers in {run.wall:.1f} s, {len(run.rows) / run.wall:.2f} a second; "
        f"each {median(seconds):.1f} s median, {cuts[89]:.1f} p90, {cuts[98]:.1f} p99, {seconds[-1]:.1f} longest; "
        f"{quick} of {len(wrong)} wrong ones within {SETTLED:.0f} s"
    )
    return "\n".join([head, *differ])


if __name__ == "__main__":
    sys.exit(main())
