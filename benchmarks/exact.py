"""What exact arithmetic says of right and of wrong programs.

    python benchmarks/exact.py [--only right,corpus,triton,causes,wrong,references,attacks] [--most N] [--jobs N] [--seconds S] [--write FILE] [FOLDER ...]

Judges labelled programs (CUDA: corpus, Triton: triton), wrong ones of known cause (causes; wrong: these and the labelled
defects, and no right one), the reference-fixed kernels of
the built-in tasks, and answers to KernelBench in FOLDERS (`--tasks` has its problems), on `sim` with `--exact`. Prints a line for each, then how many of
each verdict were shown equal, and what exact arithmetic costs beside the runs. A program counts as wrong where its verdict
is `incorrect`: 0 of them may be shown equal, but for those that are within half precision's tolerance: wrong by rounding
alone.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import rule_use

from grader import pipeline
from grader.config import Options
from grader.pipeline.context import GradingContext
from grader.pipeline.review import assess
from grader.records import Sample
from grader.repair.plain_triton import triton_code
from grader.repair.reference import reference_code
from grader.store import Store
from grader.tasks import builtin_tasks

TWICE = 2.0
"""Times of the runs that exact arithmetic may take."""
SAID = frozenset({"equal", "not shown"})
"""Of programs whose values were followed."""


@dataclass(frozen=True)
class Row:
    """A program's verdict, and what exact arithmetic says of it."""

    name: str
    status: str
    said: str
    extent: str
    exact: float
    run: float
    rounding: bool
    """Whether what is wrong is within half precision's tolerance."""

    def __str__(self) -> str:
        took = f"{self.exact:.1f} s beside {self.run:.1f} s"
        return f"{self.name} {self.status} {self.said} {self.extent} {took}"


def judged(grading: GradingContext, program: rule_use.Program) -> Row:
    """Return the verdict of a program, and what exact arithmetic says."""
    changed = {"task": program.task, "tasks": program.tasks, "policy": program.policy}
    own = replace(grading, options=grading.options.model_copy(update=changed))
    evaluation = assess(own, program.sample).evaluation
    exact, seconds = evaluation.exact, evaluation.seconds
    said = exact.algebraic if exact else "not asked"
    told = exact and ((exact.without and f"without {exact.without}") or exact.reason[:160])
    extent = f"{exact.unequal}/{exact.elements} {told}" if exact else ""
    spent = seconds.get("exact", 0.0), seconds.get("run", 0.0)
    wrong = [one for one in evaluation.comparisons if one.decides and not one.equal]
    rounding = bool(wrong) and all(one.half_precision for one in wrong)
    return Row(program.name, evaluation.verdict.status, said, extent, *spent, rounding)


def chosen(
    groups: Sequence[str], folders: Sequence[Path], tasks: Path | None
) -> Iterator[rule_use.Program]:
    """Yield the programs of some groups and folders."""
    yield from rule_use.programs([one for one in groups if one in rule_use.GROUPS], folders, tasks)
    yield from _triton() if "triton" in groups else ()
    yield from _causes() if "causes" in groups else ()
    yield from _wrong() if "wrong" in groups else ()
    yield from _references() if "references" in groups else ()


def _triton() -> Iterator[rule_use.Program]:
    from tests.corpus import corpus

    labelled = (kind("triton") for kind in (corpus.originals, corpus.variants, corpus.mutants))
    for one in (one for some in labelled for one in some):
        yield program(f"triton/{one.name}", one.code, one.task)


def _causes() -> Iterator[rule_use.Program]:
    from benchmarks.causes.set import right_programs, wrong_programs

    for one in (*wrong_programs(), *right_programs()):
        yield program(f"causes/{one.half}-{one.name}", one.code, one.task)


def _wrong() -> Iterator[rule_use.Program]:
    from benchmarks.causes.set import wrong_programs
    from tests.corpus import corpus

    for one in wrong_programs():
        yield program(f"causes/{one.half}-{one.name}", one.code, one.task)
    for one in (*corpus.mutants(), *corpus.mutants("triton")):
        yield program(f"{one.folder}/{one.name}", one.code, one.task)


def _references() -> Iterator[rule_use.Program]:
    for name, task in builtin_tasks().items():
        for form, code in (("cuda", reference_code(task)), ("triton", triton_code(task))):
            if code is not None:
                yield program(f"references/{name}-{form}", code, name)


def program(name: str, code: str, task: str) -> rule_use.Program:
    return rule_use.Program(name, Sample(id=name, origin=name, format="python", text=code), task)


def main() -> None:
    """Judge what was asked for, in an order by chance that is always the same."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--tasks", type=Path)
    parser.add_argument("--most", type=int, default=1000)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=36000, help="begin no other after these")
    parser.add_argument("--write", type=Path)
    asked = parser.parse_args()
    programs = list(chosen(asked.only.split(","), asked.folders, asked.tasks))
    random.Random(0).shuffle(programs)
    options = Options(device="sim", exact=True, repair=False)
    grading = pipeline.open_context(options, Store(), rule_use.SEED)
    end = time.monotonic() + asked.seconds

    def one_row(program: rule_use.Program) -> Row | None:
        row = judged(grading, program) if time.monotonic() < end else None
        if row:
            print(row, flush=True)
        return row

    with ThreadPoolExecutor(asked.jobs) as pool:
        rows = [row for row in pool.map(one_row, programs[: asked.most]) if row]
    report(rows)
    if asked.write:
        asked.write.write_text(json.dumps([asdict(row) for row in rows], indent=1), "utf-8")


def report(rows: Sequence[Row]) -> None:
    """Print how many of each verdict were shown equal, by language, and what that costs."""
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for row in rows:
        found[f"{row.name.split('/')[0]} {row.status}"][row.said] += 1
    for status, counts in sorted(found.items()):
        print(status, dict(counts))
    cost = [row.exact / row.run for row in rows if row.exact and row.run]
    if cost:
        above = sum(one > TWICE for one in cost)
        print(
            f"exact beside run: median {statistics.median(cost):.2f}, most {max(cost):.1f}, "
            f"{above} of {len(cost)} above {TWICE}"
        )
    right = [one for one in rows if one.status == "correct" and one.said != "not asked"]
    wrong = [one for one in rows if one.status == "incorrect" and one.said in SAID]
    print(f"right: {_shown(right)} of {len(right)} equal; wrong: {_shown(wrong)} of {len(wrong)}")
    equal = [one for one in rows if one.status != "correct" and one.said == "equal"]
    print("wrong and equal, by rounding:", [r.name for r in equal if r.rounding])
    print("wrong and equal, others:", [f"{r.name} {r.status}" for r in equal if not r.rounding])


def _shown(rows: Sequence[Row]) -> int:
    return sum(one.said == "equal" for one in rows)


if __name__ == "__main__":
    main()
