"""CPU time of a review of the text alone: parsing and every rule, no build, no run, no torch.

    python benchmarks/text_review.py [--repeat 3] [--slowest 5] [PATH ...]

Reads the labelled kernels of tests/corpus/ (originals and seeded), and the samples under the paths (by default
`samples/`). Each text is read anew each time, with its task; the least CPU of the repetitions counts, so that a
busy machine shows less. Exits with 1 where the median is over `LIMIT`, or where torch was imported.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from grader.ingest import extract, read_samples
from grader.records import Task
from grader.rules import Context, all_rules
from grader.source import parse
from grader.tasks import builtin_tasks, choose
from tests.corpus import corpus
from tests.rules.reviews import review_text

LIMIT = 0.050
"""Seconds of CPU."""


def texts(paths: Sequence[Path]) -> Iterator[tuple[str, str, Task | None]]:
    """Yield a name, a submission's code and its task."""
    tasks = builtin_tasks()
    for label in (*corpus.originals(), *corpus.mutants()):
        yield label.name, label.code, tasks[label.task]
    for sample in read_samples(list(paths)):
        extraction = extract(sample)
        if extraction.submission is not None:
            choice = choose(sample, extraction, task=None, tasks_dir=None)
            yield sample.id, extraction.submission.code, choice.task


def measure(code: str, task: Task | None, turn: int) -> float:
    """Return the CPU seconds of one review; the added lines make it a text never seen before."""
    code += "\n" * (turn + 1)
    begin = time.process_time()
    review_text(parse(code), Context(task=task))
    return time.process_time() - begin


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("paths", nargs="*", type=Path, default=[Path("samples")])
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--slowest", type=int, default=5)
    options = parser.parse_args()
    all_rules()
    found = [
        (min(measure(code, task, turn) for turn in range(options.repeat)), name)
        for name, code, task in texts(options.paths)
    ]
    found.sort()
    seconds = [spent for spent, _ in found]
    median, high = statistics.median(seconds), statistics.quantiles(seconds, n=20)[-1]
    torch = "torch" in sys.modules
    print(
        f"{len(seconds)} texts: median {1000 * median:.1f} ms, p95 {1000 * high:.1f} ms, "
        f"worst {1000 * seconds[-1]:.1f} ms of CPU; torch {'was' if torch else 'not'} imported"
    )
    for spent, name in reversed(found[-options.slowest :]):
        print(f"  {1000 * spent:.0f} ms {name}")
    return 1 if median > LIMIT or torch else 0


if __name__ == "__main__":
    raise SystemExit(main())
