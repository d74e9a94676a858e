"""False errors of the text alone: how many answers known to be right get a finding of severity `error`, and of which rules.

    python benchmarks/text_errors.py [--tasks FOLDER] [--every N] [--most 0.01] [--warnings] FOLDER [FOLDER ...]

Reads every sample under the folders as `grade.py --device none` does: nothing is built and nothing is run. The folders
must hold only answers that are right (run them first, or take recorded verdicts). Prints each answer with an error, the
errors by rule, and the share; exits with 1 where the share is over `--most`. `--warnings` lists the rules of warnings too.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from grader import pipeline
from grader.config import Options
from grader.ingest import read_samples
from grader.pipeline.review import review
from grader.records import Finding, Review, Severity
from grader.store import Store


def reviews(paths: Sequence[Path], tasks: Path | None, every: int) -> list[Review]:
    """Return what is said of each sample from its text alone; fresh, so that the rules as they are now say it."""
    options = Options(device="none", repair=False, fresh=True, tasks=tasks)
    shop = pipeline.open_context(options, Store(), 20260101)
    return [review(shop, sample) for sample in list(read_samples(list(paths)))[::every]]


def of_weight(one: Review, severity: Severity) -> list[Finding]:
    """Return a review's findings of one severity."""
    return [finding for finding in one.findings if finding.severity == severity]


def by_rule(all_of_them: Sequence[Review], severity: Severity) -> Counter[str]:
    """Return how many answers get a finding of this severity, by rule."""
    return Counter(
        f"{rule} {name}"
        for one in all_of_them
        for rule, name in {(item.rule, item.name) for item in of_weight(one, severity)}
    )


def show(one: Review) -> None:
    """Print a review's errors."""
    print(f"{one.sample} ({one.task.name or 'no task'}):")
    for item in of_weight(one, "error"):
        print(f"  {item.rule} line {item.place.line if item.place else '-'}: {item.message[:200]}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("paths", nargs="+", type=Path)
    parser.add_argument("--tasks", type=Path, help="KernelBench problems that they answer")
    parser.add_argument("--every", type=int, default=1, help="take every Nth answer")
    parser.add_argument("--most", type=float, default=0.01, help="largest share with an error")
    parser.add_argument("--warnings", action="store_true")
    chosen = parser.parse_args()
    read = reviews(chosen.paths, chosen.tasks, chosen.every)
    wrong = [one for one in read if of_weight(one, "error")]
    for one in wrong:
        show(one)
    for severity in ("error", "warning") if chosen.warnings else ("error",):
        print(f"\nAnswers with a finding of severity {severity}, by rule:")
        for rule, count in by_rule(read, severity).most_common():
            print(f"  {count:4} {rule}")
    share = len(wrong) / max(1, len(read))
    print(f"\n{len(wrong)} of {len(read)} answers with an error from the text alone ({share:.1%})")
    return 1 if share > chosen.most or not read else 0


if __name__ == "__main__":
    raise SystemExit(main())
