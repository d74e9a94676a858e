"""Recall of seeded defects, and false findings on correct kernels, by the whole pipeline on `sim`.

    python benchmarks/recall.py [--triton] [--text] [--repair] [--jobs 2] [--keep FOLDER] [--every N [--start K]] [part of a name ...]

Grades the labelled submissions of tests/corpus/. A seeded defect is found when the review has a finding of
severity `error` (or `warning`, where the seed doesn't show at the task's own sizes and the verdict is `correct`, and with `--text`),
of a rule that names the defect, at a line where it may be named. Prints what was missed, the
table by kind of mutation and the table by rule; exits with 1 under 95% recall or with any error on a correct
original. `--text` reads only (no build, no run, no verdict). `--keep` stores each evaluation, so that a second run only reads and judges again (for work on rules).
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from grader import pipeline
from grader.config import Options
from grader.ingest import extract
from grader.judge import in_keeping
from grader.pipeline.examiner import Examiner
from grader.pipeline.review import review as reviewed
from grader.records import Finding, Review, Sample
from grader.store import Store
from grader.tasks import choose
from tests.corpus import corpus

TARGET = 0.95


@dataclass(frozen=True)
class Outcome:
    """What the grader said of a labelled submission."""

    label: corpus.Labelled
    review: Review
    seconds: float

    @property
    def errors(self) -> list[Finding]:
        return [finding for finding in self.review.findings if finding.severity == "error"]

    @property
    def claims(self) -> list[Finding]:
        """What counts as found: errors, and warnings where the result is right at the task's sizes, or nothing was run."""
        light = self.review.verdict.status == "correct" or self.review.evaluation.device == "none"
        severities = {"error", "warning"} if light else {"error"}
        return [finding for finding in self.review.findings if finding.severity in severities]

    @property
    def right_rule(self) -> bool:
        return any(_codes(finding) & set(self.label.rules) for finding in self.claims)

    @property
    def found(self) -> bool:
        return any(
            _codes(finding) & set(self.label.rules) and _lines(finding) & self.label.lines
            for finding in self.claims
        )

    @property
    def verdict_ok(self) -> bool:
        status = self.review.verdict.status
        return status in self.label.verdict or self.review.evaluation.device == "none"

    @property
    def needs_fix(self) -> bool:
        """Whether a run or a build showed that it is wrong."""
        return self.review.verdict.status not in {"correct", "grader_error", "not_run"}

    @property
    def fixed(self) -> bool:
        return any(repair.kind == "fix" for repair in self.review.repairs)

    @property
    def has_reference(self) -> bool:
        return any(repair.kind == "reference" for repair in self.review.repairs)


def _codes(finding: Finding) -> set[str]:
    return {finding.rule, *finding.also}


def _lines(finding: Finding) -> set[int]:
    place = finding.place
    return set(range(place.line, place.end_line + 1)) if place else set()


def grade(label: corpus.Labelled, shop: pipeline.GradingContext, keep: Path | None) -> Outcome:
    """Grade one submission, or examine anew what was evaluated before."""
    begin = time.monotonic()
    own = replace(shop, options=shop.options.model_copy(update={"task": label.task}))
    sample = Sample(id=label.name, origin=label.name, format="python", text=label.code)
    kept = keep / f"{sample.key}.json" if keep else None
    if kept and kept.exists():
        review = _again(own, sample, Review.model_validate_json(kept.read_bytes()))
    else:
        review = reviewed(own, sample)
        if kept:
            kept.parent.mkdir(parents=True, exist_ok=True)
            kept.write_text(review.model_dump_json())
    return Outcome(label, review, time.monotonic() - begin)


def _again(shop: pipeline.GradingContext, sample: Sample, review: Review) -> Review:
    extraction = extract(sample)
    task = choose(sample, extraction, task=shop.options.task, tasks_dir=None).task
    if extraction.submission is None:
        return review
    examiner = Examiner(shop, task, sample, extraction)
    found = examiner.inspect(extraction.submission, review.evaluation).findings
    kept = in_keeping(review.verdict, found)
    return review.model_copy(update={"findings": kept})


def report(outcomes: list[Outcome]) -> int:
    """Print the tables; return the exit code."""
    originals = [one for one in outcomes if not one.label.kind]
    seeded = [one for one in outcomes if one.label.kind]
    _print_missed(originals, seeded)
    _print_kinds(seeded)
    _print_rules(seeded)
    false = [one for one in originals if one.errors]
    share = sum(one.found for one in seeded) / max(1, len(seeded))
    right_rule = sum(one.right_rule for one in seeded)
    wrong = sum(not one.verdict_ok for one in outcomes)
    print(
        f"\n{len(originals)} correct originals: {len(false)} with a finding of severity error. "
        f"{len(seeded)} seeded defects of {len({one.label.kind for one in seeded})} kinds: "
        f"{share:.1%} found at the right line ({right_rule} by a right rule anywhere), "
        f"{wrong} verdicts not as labelled."
    )
    _print_repairs(outcomes)
    return 0 if share >= TARGET and not false else 1


def _print_repairs(outcomes: list[Outcome]) -> None:
    """Print the share with a verified fix of those that need one, and what became of the others."""
    if not any(one.review.repairs or one.review.repair_note for one in outcomes):
        return
    wrong = [one for one in outcomes if one.needs_fix]
    fixed = sum(one.fixed for one in wrong)
    lucky = sum(one.fixed for one in outcomes if not one.needs_fix)
    reference = sum(one.has_reference for one in outcomes)
    seconds = [one.review.evaluation.seconds for one in outcomes]
    repair = sum(each.get("repair", 0.0) for each in seconds)
    print("\nWithout a fix:")
    for one in wrong:
        if not one.fixed:
            print(f"  {one.label.name}: {one.review.verdict.status}; {one.review.repair_note}")
    print(
        f"\n{fixed} of {len(wrong)} wrong programs with a verified fix ({fixed / max(1, len(wrong)):.1%}), "
        f"{lucky} of {len(outcomes) - len(wrong)} others; {reference} of {len(outcomes)} with a verified reference kernel; "
        f"{repair:.0f} s of repair, {sum(each.get('evaluate', 0.0) for each in seconds):.0f} s of evaluating the submissions."
    )


def _print_missed(originals: list[Outcome], seeded: list[Outcome]) -> None:
    print("\nNot as labelled:")
    for one in (*originals, *seeded):
        if (one.found if one.label.kind else not one.errors) and one.verdict_ok:
            continue
        said = ", ".join(
            f"{f.rule}@{f.place.line if f.place else '-'}({f.confidence[:2]})" for f in one.errors
        )
        wanted = f"{'/'.join(one.label.rules)}@{sorted(one.label.lines)}"
        mark = "" if one.verdict_ok else f" [want {'/'.join(one.label.verdict)}]"
        print(
            f"  {one.label.name}: {one.review.verdict.status}{mark}; {said or 'nothing'}; {wanted}"
        )


def _print_kinds(seeded: list[Outcome]) -> None:
    table: dict[str, list[Outcome]] = defaultdict(list)
    for one in seeded:
        table[one.label.kind].append(one)
    print("\n| mutation | seeds | found | wrong | of these fixed |\n|---|---|---|---|---|")
    for kind, ones in sorted(table.items()):
        found = sum(one.found for one in ones)
        print(f"| {kind} | {len(ones)} | {found} | {_fixed(ones)} |")


def _fixed(ones: list[Outcome]) -> str:
    """Return two cells: how many need a fix, and how many of these got one."""
    wrong = [one for one in ones if one.needs_fix]
    return f"{len(wrong)} | {sum(one.fixed for one in wrong)}"


def _print_rules(seeded: list[Outcome]) -> None:
    wanted: Counter[str] = Counter()
    found: Counter[str] = Counter()
    other: Counter[str] = Counter()
    for one in seeded:
        wanted.update(one.label.rules)
        for finding in one.errors:
            right = _codes(finding) & set(one.label.rules)
            found.update(sorted(right))
            if not right:
                other[finding.rule] += 1
    print(
        "\n| rule | seeds that it may name | named | errors beside | wrong | of these fixed |"
        "\n|---|---|---|---|---|---|"
    )
    for rule in sorted({*wanted, *other}):
        fixed = _fixed([one for one in seeded if rule in one.label.rules])
        print(f"| {rule} | {wanted[rule]} | {found[rule]} | {other[rule]} | {fixed} |")


def _row(one: Outcome) -> str:
    words = [one.label.name, one.review.verdict.status, f"{one.seconds:.1f} s"]
    if one.review.repairs or one.review.repair_note:
        seconds = one.review.evaluation.seconds.get("repair", 0.0)
        words.append(f"{'fixed' if one.fixed else 'no fix'} ({seconds:.1f} s of repair)")
    return "; ".join(words)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--triton", action="store_true", help="the Triton programs")
    parser.add_argument("--text", action="store_true")
    parser.add_argument("--repair", action="store_true")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--every", type=int, default=1, help="take every Nth seeded submission")
    parser.add_argument(
        "--start", type=int, help="begin with this one, and leave out the originals"
    )
    chosen = parser.parse_args()
    folder = "triton" if chosen.triton else "kernels"
    right = (*corpus.originals(folder), *corpus.variants(folder)) if chosen.start is None else ()
    labels = [
        label
        for label in (*right, *corpus.mutants(folder)[chosen.start or 0 :: chosen.every])
        if not chosen.names or any(part in label.name for part in chosen.names)
    ]
    options = Options(device="none" if chosen.text else "sim", repair=chosen.repair)
    shop = pipeline.open_context(options, Store(), 20260101)
    with ThreadPoolExecutor(chosen.jobs) as pool:
        outcomes = []
        for one in pool.map(lambda label: grade(label, shop, chosen.keep), labels):
            outcomes.append(one)
            if not chosen.text:
                print(_row(one), flush=True)
    return report(outcomes)


if __name__ == "__main__":
    raise SystemExit(main())
