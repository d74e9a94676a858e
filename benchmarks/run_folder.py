"""A grading as a user starts it, for benchmarks: the command, and the rows that it left."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class Graded:
    """One run folder."""

    rows: Mapping[str, Mapping[str, Any]]
    """Rows of results.jsonl, by sample."""
    environment: Mapping[str, str]
    """What the reviews say of the machine."""
    command: str
    seconds: float


def grade(samples: Path, out: Path, *options: str, limit: float | None = None) -> Graded:
    """Grade all samples into a folder, or go on there; the grader prints to standard error.

    After `limit` seconds it is interrupted as by Ctrl-C, and what it has graded by then is returned.
    """
    words = ["grade.py", str(samples), "--out", str(out), *options]
    begin = time.monotonic()
    with subprocess.Popen([sys.executable, *words], cwd=ROOT, stdout=sys.stderr) as grading:
        try:
            grading.wait(limit)
        except subprocess.TimeoutExpired:
            grading.send_signal(signal.SIGINT)
    seconds = time.monotonic() - begin
    lines = (out / "results.jsonl").read_text("utf-8").splitlines()
    rows = {row["sample"]: row for row in map(json.loads, lines)}
    review = json.loads(next((out / "data").glob("*.json")).read_text("utf-8"))
    return Graded(rows, review["environment"], "python " + " ".join(words), round(seconds, 1))


def block(code: str) -> str:
    """Return a program as a model would give it."""
    return f"```python\n{code}\n```\n"


def write(samples: Iterable[tuple[str, str, str]], path: Path) -> Path:
    """Write samples (name, task, what was answered) as records of JSON lines."""
    records = (
        {"id": name, "completion": text, **({"task": task} if task else {})}
        for name, task, text in samples
    )
    path.write_text("".join(json.dumps(one) + "\n" for one in records), "utf-8")
    return path
