"""Is anything charged to an answer that a plain script gets right, or passed that it gets wrong?

    python benchmarks/charged_failures.py ANSWERS PROBLEMS [--only GLOB] [--device cuda] [--write FILE]

ANSWERS is a folder of Python files whose names (or folders) tell level and problem, `level_2_problem_42_x.py`; PROBLEMS is
a KernelBench checkout (`level2/42_*.py` somewhere below it). Each answer is graded (no repair), and run by
`benchmarks/plain_script.py` in a process of its own: three seeds, as KernelBench does it, beside float64. Prints a table of
both verdicts, the contradictions apart, and exits with 1 where there is one: a charge against what the
plain script has right, or `correct` for what it has wrong. `unsound` contradicts neither: the values may be right.
`grader_error`, `timeout` and `not_run` are no charge, and listed as open.

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
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from run_folder import ROOT, grade

NAMED = re.compile(r"level_?(\d)\D.*?problem_?(\d+)")
CHARGES = frozenset({"crashed", "hung", "incorrect", "dishonest", "build_failed", "rejected"})
OPEN = frozenset({"grader_error", "timeout", "build_timeout", "not_run", "no_task", "no_code"})


@dataclass(frozen=True)
class Answer:
    """One file, and the problem that it answers."""

    path: Path
    problem: Path
    level: int
    number: int


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

    @property
    def contradicted(self) -> bool:
        """Whether the two can't both be true."""
        if self.grader in CHARGES:
            return self.right
        return self.grader == "correct" and not self.right


def main() -> int:
    """Grade, run plainly, and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("answers", type=Path)
    parser.add_argument("problems", type=Path)
    parser.add_argument("--only", default="*", help="glob of file names")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--jobs", default="4")
    parser.add_argument("--cache", default="")
    parser.add_argument("--seconds", type=float, default=300, help="time of each plain script")
    parser.add_argument(
        "--no-timing", action="store_true", help="compare at full size, time nothing"
    )
    parser.add_argument("--write", type=Path, help="write the rows there, as JSON")
    options = parser.parse_args()
    answers = list(found(options.answers, options.problems, options.only))
    print(f"{len(answers)} answers")
    with ThreadPoolExecutor(
        int(options.jobs)
    ) as pool:  # most of a plain script's time is its build
        plain = [pool.submit(plainly, answer, options.seconds) for answer in answers]
        graded = graded_by_us(answers, options)
        rows = [row(*parts) for parts in zip(answers, graded, plain, strict=True)]
    for one in rows:
        print(line(one))
    wrong = [one for one in rows if one.contradicted]
    still_open = [one for one in rows if one.grader in OPEN]
    print(f"\n{len(rows)} answers, {len(wrong)} contradictions, {len(still_open)} open")
    for one in (*wrong, *still_open):
        print(f"{one.answer}: {one.grader}: {one.sentence}")
    if options.write:
        options.write.write_text(json.dumps([asdict(one) for one in rows], indent=1), "utf-8")
    return 1 if wrong else 0


def found(folder: Path, problems: Path, only: str) -> Iterator[Answer]:
    """Yield the answers whose problem is there."""
    for path in sorted(folder.rglob(only)):
        named = NAMED.search(str(path.relative_to(folder)))
        if path.suffix != ".py" or named is None:
            continue
        level, number = int(named[1]), int(named[2])
        problem = next(problems.rglob(f"level{level}/{number}_*.py"), None)
        if problem is None:
            print(f"{path.name}: no problem {number} of level {level}", file=sys.stderr)
        else:
            yield Answer(path, problem.resolve(), level, number)


def graded_by_us(answers: list[Answer], options: argparse.Namespace) -> list[Mapping[str, Any]]:
    """Return the grader's row of each answer."""
    with tempfile.TemporaryDirectory(prefix="charged-") as name:
        Path(name).chmod(0o755)
        samples = Path(name, "samples")
        names = copied(answers, samples)
        words = ["--device", options.device, "--no-repair", "--tasks", str(options.problems)]
        words += ["--jobs", options.jobs, *(["--cache", options.cache] if options.cache else [])]
        words += ["--no-timing"] if options.no_timing else []
        rows = grade(samples, Path(name, "out"), *words).rows
    return [_row_of(rows, sample) for sample in names]


def copied(answers: Iterable[Answer], samples: Path) -> list[str]:
    """Copy answers into a new folder, under names that tell their problems; return the names."""
    samples.mkdir()
    names = []
    for number, answer in enumerate(answers):
        names.append(f"level_{answer.level}_problem_{answer.number}_sample_{number}_kernel")
        shutil.copyfile(answer.path, samples / f"{names[-1]}.py")
    return names


def _row_of(rows: Mapping[str, Mapping[str, Any]], sample: str) -> Mapping[str, Any]:
    """Return the row of a sample, whatever of its path its name holds."""
    exact = (row for name, row in rows.items() if Path(name).name.removesuffix(".py") == sample)
    return next(exact, {"status": "not_run", "sentence": "it has no row"})


def row(answer: Answer, graded: Mapping[str, Any], plain: Future[dict[str, Any]]) -> Row:
    """Return both verdicts on an answer."""
    return Row(
        answer=answer.path.name,
        grader=graded["status"],
        sentence=" ".join(str(graded["sentence"]).split())[:300],
        **plain.result(),
    )


def plainly(answer: Answer, seconds: float) -> dict[str, Any]:
    """Return what the plain script prints; a failure where it prints nothing."""
    nothing = {"right": False, "error": 0.0, "torch": 0.0, "exact": False}
    script = str(ROOT / "benchmarks" / "plain_script.py")
    words = [sys.executable, script, str(answer.path.resolve()), str(answer.problem)]
    with tempfile.TemporaryDirectory(prefix="plain-") as folder:
        own = {**os.environ, "TORCH_EXTENSIONS_DIR": folder, "TMPDIR": folder}
        try:
            ended = subprocess.run(
                words, cwd=folder, env=own, capture_output=True, text=True, errors="replace",
                timeout=seconds, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return {**nothing, "failure": f"not done within {seconds:.0f} s"}
    lines = ended.stdout.strip().splitlines()
    try:
        said: dict[str, Any] = json.loads(lines[-1])
    except (IndexError, ValueError):
        return {**nothing, "failure": f"exit status {ended.returncode}: {ended.stderr[-300:]}"}
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
