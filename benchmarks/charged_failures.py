"""Is anything charged to an answer that a plain script gets right, or passed that it gets wrong?

    python benchmarks/charged_failures.py ANSWERS PROBLEMS --keep FOLDER [--only GLOB] [--device cuda] [--limit 450]

ANSWERS is a folder of Python files whose names (or folders) tell level and problem, `level_2_problem_42_x.py`; PROBLEMS is
a KernelBench checkout (`level2/42_*.py` somewhere below it). Each answer is graded (no repair), and run by
`benchmarks/plain_script.py` in a process of its own: three seeds, as KernelBench does it, beside float64. Prints a table of
both verdicts, the contradictions apart, and exits with 1 where there is one: a charge against what the
plain script has right, or `correct` for what it has wrong. `unsound` contradicts neither: the values may be right.
`grader_error`, `timeout` and `not_run` are no charge, and listed as open, as is what the plain script had no time or memory for.

Each result is printed and kept in FOLDER as it comes; after `--limit` seconds the table is made of what is there, and
the same command goes on from it.

Answers are untrusted, and the plain script has no sandbox: only on a machine that is thrown away.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from run_folder import ROOT, grade

NAMED = re.compile(r"level_?(\d)\D.*?problem_?(\d+)")
CHARGES = frozenset({"crashed", "hung", "incorrect", "dishonest", "build_failed", "rejected"})
OPEN = frozenset({"grader_error", "timeout", "build_timeout", "not_run", "no_task", "no_code"})
ENDING = 20
"""Seconds that an interrupted grading may take to end."""


@dataclass(frozen=True)
class Answer:
    """One file, and the problem that it answers."""

    path: Path
    problem: Path
    level: int
    number: int
    sample: str


@dataclass(frozen=True)
class Row:
    """Both verdicts on one answer."""

    answer: str
    grader: str
    sentence: str
    right: bool
    error: float
    torch: float
    exact: bool
    failure: str
    known: bool
    """Whether the plain script came to an answer of its own: it had the time and the memory."""

    @property
    def contradicted(self) -> bool:
        """Whether the two can't both be true."""
        if not self.known:
            return False
        if self.grader in CHARGES:
            return self.right
        return self.grader == "correct" and not self.right

    @property
    def open(self) -> bool:
        """Whether one of the two says nothing."""
        return self.grader in OPEN or not self.known


def main() -> int:
    """Grade, run plainly, and print the table."""
    options = _options()
    until = time.monotonic() + options.limit
    answers = list(found(options.answers, options.problems, options.only))
    print(f"{len(answers)} answers", flush=True)
    plain = PlainRuns(options.keep / "plain.jsonl", options.seconds, until)
    with ThreadPoolExecutor(options.jobs) as pool:  # most of a plain script's time is its build
        for one in enumerate(answers):
            pool.submit(plain.run, *one)
        graded = graded_by_us(answers, options.keep, options, until - ENDING)
    pairs = zip(answers, graded, strict=True)
    rows = [row(answer, said, plain.of(answer)) for answer, said in pairs]
    (options.keep / "rows.json").write_text(json.dumps([asdict(one) for one in rows], indent=1))
    return told(rows)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("answers", type=Path)
    parser.add_argument("problems", type=Path)
    parser.add_argument("--keep", type=Path, required=True, help="results, as they come")
    parser.add_argument("--only", default="*", help="glob of file names")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--jobs", type=int, default=4)
    parser.add_argument("--cache", default="")
    parser.add_argument("--seconds", type=float, default=300, help="time of each plain script")
    parser.add_argument("--limit", type=float, default=3600, help="time of everything")
    parser.add_argument(
        "--no-timing", action="store_true", help="compare at full size, time nothing"
    )
    return parser.parse_args()


def told(rows: list[Row]) -> int:
    """Print the table; return 1 where something is contradicted."""
    for one in rows:
        print(line(one))
    wrong = [one for one in rows if one.contradicted]
    still_open = [one for one in rows if one.open]
    print(f"\n{len(rows)} answers, {len(wrong)} contradictions, {len(still_open)} open")
    for one in (*wrong, *still_open):
        print(f"{one.answer}: {one.grader}: {one.sentence or one.failure}")
    return 1 if wrong else 0


def found(folder: Path, problems: Path, only: str) -> Iterator[Answer]:
    """Yield the answers whose problem is there, under names that tell their problems."""
    names: list[str] = []
    for path in sorted(folder.rglob(only)):
        named = NAMED.search(str(path.relative_to(folder)))
        if path.suffix != ".py" or named is None:
            continue
        level, number = int(named[1]), int(named[2])
        problem = next(problems.rglob(f"level{level}/{number}_*.py"), None)
        if problem is None:
            print(f"{path.name}: no problem {number} of level {level}", file=sys.stderr)
        else:
            name = f"level_{level}_problem_{number}_sample_{len(names)}_kernel"
            names.append(name)
            yield Answer(path, problem.resolve(), level, number, name)


def graded_by_us(
    answers: list[Answer], folder: Path, options: argparse.Namespace, until: float | None = None
) -> list[Mapping[str, Any]]:
    """Return the grader's row of each answer; `not_run` where it did not come to it."""
    samples = copied(answers, folder / "samples")
    words = ["--device", options.device, "--no-repair", "--tasks", str(options.problems)]
    words += ["--jobs", str(options.jobs), *(["--cache", options.cache] if options.cache else [])]
    words += ["--no-timing"] if options.no_timing else []
    limit = until - time.monotonic() if until else None
    rows = grade(samples, folder / "graded", *words, limit=limit).rows
    return [_row_of(rows, answer.sample) for answer in answers]


def copied(answers: Iterable[Answer], samples: Path) -> Path:
    """Copy answers into a folder, under names that tell their problems; return the folder."""
    samples.mkdir(parents=True, exist_ok=True)
    for answer in answers:
        shutil.copyfile(answer.path, samples / f"{answer.sample}.py")
    return samples


def _row_of(rows: Mapping[str, Mapping[str, Any]], sample: str) -> Mapping[str, Any]:
    """Return the row of a sample, whatever of its path its name holds."""
    exact = (row for name, row in rows.items() if Path(name).name.removesuffix(".py") == sample)
    return next(exact, {"status": "not_run", "sentence": "it has no row"})


def row(answer: Answer, graded: Mapping[str, Any], plain: Mapping[str, Any]) -> Row:
    """Return both verdicts on an answer."""
    return Row(
        answer=answer.path.name,
        grader=graded["status"],
        sentence=" ".join(str(graded["sentence"]).split())[:300],
        **plain,
    )


class PlainRuns:
    """What the plain script says of each answer, kept in a file as it comes."""

    def __init__(self, path: Path, seconds: float, until: float) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        self._path, self._seconds, self._until = path, seconds, until
        self._lock, self._gpus = threading.Lock(), _gpus()
        kept = map(json.loads, path.read_text("utf-8").splitlines())
        self._said: dict[str, dict[str, Any]] = {one.pop("sample"): one for one in kept}

    def run(self, number: int, answer: Answer) -> None:
        """Run one answer on the next GPU, unless it is known or the time is over."""
        seconds = min(self._seconds, self._until - time.monotonic())
        if answer.sample in self._said or seconds < 1:
            return
        said = plainly(answer, seconds, number % self._gpus)
        if said["known"] or seconds == self._seconds:
            self._keep(answer, said)

    def _keep(self, answer: Answer, said: dict[str, Any]) -> None:
        with self._lock, self._path.open("a", encoding="utf-8") as file:
            self._said[answer.sample] = said
            file.write(json.dumps({"sample": answer.sample, **said}) + "\n")
            print(answer.path.name, json.dumps(said)[:200], flush=True)

    def of(self, answer: Answer) -> dict[str, Any]:
        """Return what the plain script said of an answer."""
        return self._said.get(answer.sample) or _unknown("not reached")


def _gpus() -> int:
    asked = [sys.executable, "-c", "import torch; print(torch.cuda.device_count())"]
    return max(1, int(subprocess.run(asked, capture_output=True, text=True, check=True).stdout))


def _unknown(why: str) -> dict[str, Any]:
    nothing = {"right": False, "error": 0.0, "torch": 0.0, "exact": False}
    return {**nothing, "failure": why, "known": False}


def plainly(answer: Answer, seconds: float, gpu: int) -> dict[str, Any]:
    """Return what the plain script prints; a failure where it prints nothing."""
    script = str(ROOT / "benchmarks" / "plain_script.py")
    words = [sys.executable, script, str(answer.path.resolve()), str(answer.problem)]
    with tempfile.TemporaryDirectory(prefix="plain-", ignore_cleanup_errors=True) as folder:
        own = {"TORCH_EXTENSIONS_DIR": folder, "TMPDIR": folder, "CUDA_VISIBLE_DEVICES": str(gpu)}
        try:
            ended = subprocess.run(
                words, cwd=folder, env={**os.environ, **own}, capture_output=True, text=True,
                errors="replace", timeout=seconds, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return _unknown(f"not done within {seconds:.0f} s")
    lines = ended.stdout.strip().splitlines()
    try:
        said: dict[str, Any] = json.loads(lines[-1])
    except (IndexError, ValueError):
        failure = f"exit status {ended.returncode}: {ended.stderr[-300:]}"
        return {**_unknown(failure), "known": True}
    return said


def line(one: Row) -> str:
    """Return a row of the table."""
    plain = (
        one.failure.splitlines()[0][:60]
        if one.failure
        else f"{one.error:.1e} (torch {one.torch:.1e})"
    )
    mark = "CONTRADICTED" if one.contradicted else ""
    beside = "" if one.exact or one.failure else ", beside float32 alone"
    said = "right" if one.right else "wrong"
    return f"{one.answer:60} {one.grader:14} {said:6} {plain}{beside} {mark}".rstrip()


if __name__ == "__main__":
    sys.exit(main())
