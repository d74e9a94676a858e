"""The same programs graded again and again: do verdicts and speed-ups agree?

    python benchmarks/gpu_repeatability.py [--times 5] [--jobs 8] [--keep FILE] [part of a name ...]
    python benchmarks/gpu_repeatability.py --times 2 --builds fast stock ...

Grades the right programs of the labelled set (tests/corpus), the honest twins of tests/attacks and
`samples/`, each time in a process of its own with inputs of a new seed. Two gradings agree on a
speed-up when their 95% intervals meet. Prints every pair that does not agree, and the shares; exits
with 1 where a verdict differs or under 95% of speed-ups agree. `--keep` writes the figures as JSON;
with `--builds` the gradings take these ways to build in turn.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.run_folder import ROOT, Graded, block, grade, write
from tests.attacks import suite
from tests.corpus import corpus

TARGET = 0.95


@dataclass(frozen=True)
class Pair:
    """Two gradings of one program."""

    name: str
    statuses: tuple[str, str]
    speedups: tuple[float | None, float | None]
    meet: bool | None
    """Whether the intervals of the speed-ups meet; None where one has none."""


def programs() -> Iterator[tuple[str, str, str]]:
    """Yield what is graded: name, task, answer."""
    for original in corpus.originals():
        yield original.name, original.task, block(original.code)
    for twin in suite.twins():
        yield twin.name.replace("/", "-"), twin.task, block(twin.code)
    for sample in sorted((ROOT / "samples").iterdir()):
        yield sample.stem, "", sample.read_text("utf-8")


def pairs(runs: list[Graded]) -> Iterator[Pair]:
    """Yield every two gradings of each program."""
    for name in runs[0].rows:
        rows = [run.rows[name] for run in runs if name in run.rows]
        for one, other in itertools.combinations(rows, 2):
            spans = (one["speedup_interval"], other["speedup_interval"])
            meet = _meet(*spans) if all(spans) else None
            statuses = (one["status"], other["status"])
            yield Pair(name, statuses, (one["speedup"], other["speedup"]), meet)


def _meet(one: list[float], other: list[float]) -> bool:
    return one[0] <= other[1] and other[0] <= one[1]


def report(runs: list[Graded]) -> int:
    """Print what differs and the shares; return the exit code."""
    all_pairs = list(pairs(runs))
    verdicts = [pair for pair in all_pairs if pair.statuses[0] != pair.statuses[1]]
    timed = [pair for pair in all_pairs if pair.meet is not None]
    apart = [pair for pair in timed if not pair.meet]
    for pair in (*verdicts, *apart):
        print(f"{pair.name:32} {' / '.join(pair.statuses):22} {pair.speedups}")
    within = sum(_near(pair) for pair in timed)
    share = 1 - len(apart) / len(timed) if timed else 1.0
    print(f"{len(runs[0].rows)} programs, {len(runs)} times, {[run.seconds for run in runs]} s")
    print(f"verdicts: {len(verdicts)} of {len(all_pairs)} pairs differ")
    print(f"speed-ups: intervals of {share:.1%} of {len(timed)} pairs meet; {within} within 5%")
    return 0 if not verdicts and share >= TARGET else 1


def _near(pair: Pair) -> bool:
    one, other = pair.speedups
    return one is not None and other is not None and abs(one / other - 1) <= 0.05


def main(given: argparse.Namespace) -> int:
    """Grade, keep and report."""
    parts, jobs = given.parts, str(given.jobs)
    with tempfile.TemporaryDirectory() as folder:
        wanted = (p for p in programs() if not parts or any(part in p[0] for part in parts))
        path = write(wanted, Path(folder) / "programs.jsonl")
        options = ("--device", given.device, "--jobs", jobs, "--no-repair", "--no-torch-compile")
        runs = []
        for number, build in zip(range(given.times), itertools.cycle(given.builds), strict=False):
            out = Path(folder) / f"out-{number}"
            runs.append(grade(path, out, *options, "--build", build))
            if given.keep:
                given.keep.write_text(json.dumps([_kept(run) for run in runs], indent=1) + "\n")
    return report(runs)


def _kept(run: Graded) -> dict[str, object]:
    figures = ("status", "speedup", "speedup_interval", "seconds")
    rows = {name: [row[field] for field in figures] for name, row in run.rows.items()}
    return {"machine": run.environment, "seconds": run.seconds, "programs": rows}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parts", nargs="*")
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=8)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--device", default="cuda", choices=["cuda", "sim"])
    parser.add_argument("--builds", nargs="+", default=["fast"], choices=["fast", "stock"])
    raise SystemExit(main(parser.parse_args()))
