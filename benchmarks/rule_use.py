"""How often each rule, fix and function of rules, repair and source is used, over all labelled programs and public answers.

    python benchmarks/rule_use.py collect --keep BANK [--jobs N] [--only corpus,right,samples,attacks] [FOLDER ...]
    python benchmarks/rule_use.py report --keep BANK [--unused]
    python benchmarks/rule_use.py check --keep BANK [--jobs N]

`collect` grades each program in full on `sim`, and keeps its review, what one inspection of it said, and which lines of
the three rooms ran (needs `coverage`). FOLDERs hold further samples. `report` prints for each rule how many programs it
speaks of and for how many labelled defects it alone is right; for each fix how often it is in a repair; and the lines
that no program needs. `check` inspects the kept evaluations again with the code as it is now, and prints where findings
or proposed fixes differ: a safety net for work on rules that needs no run.
"""

from __future__ import annotations

import argparse
import ast
import json
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from grader import pipeline
from grader.config import Options
from grader.ingest import extract, read_samples
from grader.pipeline.context import describe_draft
from grader.pipeline.examiner import Examiner
from grader.pipeline.review import review
from grader.records import Finding, Review, Sample
from grader.store import Store
from grader.tasks import choose

ROOT = Path(__file__).resolve().parents[1]
ROOMS = ("rules", "repair", "source", "languages")
GROUPS = ("corpus", "right", "samples", "attacks")
SEED = 20260101


@dataclass(frozen=True)
class Program:
    """One program with what is known of it."""

    name: str
    sample: Sample
    task: str | None = None
    tasks: Path | None = None
    policy: str = "any"
    rules: tuple[str, ...] = ()
    """Rules that name its seeded defect."""
    lines: tuple[int, ...] = ()


def programs(groups: Sequence[str], folders: Sequence[Path], tasks: Path | None) -> list[Program]:
    """Return all programs of these groups, and the samples of the folders."""
    made = [one for group in groups for one in globals()[f"_{group}"]()]
    if folders:
        made += [
            Program(f"public/{one.id.replace('/', '_')}", one, tasks=tasks)
            for one in read_samples(list(folders))
        ]
    return made


def _python(name: str, code: str) -> Sample:
    return Sample(id=name, origin=name, format="python", text=code)


def _corpus() -> Iterator[Program]:
    from tests.corpus import corpus

    for one in (*corpus.originals(), *corpus.mutants()):
        name = f"corpus/{one.name}"
        yield Program(
            name, _python(name, one.code), one.task, rules=one.rules, lines=tuple(sorted(one.lines))
        )


def _right() -> Iterator[Program]:
    for path in sorted((ROOT / "tests/corpus/right").glob("*.py")):
        first, _, rest = path.read_text("utf-8").partition("\n")
        yield Program(
            f"right/{path.stem}",
            _python(path.stem, "\n" + rest),
            first.removeprefix("# task: ").strip(),
        )


def _samples() -> Iterator[Program]:
    for one in read_samples([ROOT / "samples"]):
        yield Program(f"samples/{one.id.replace('/', '_')}", one)


def _attacks() -> Iterator[Program]:
    from tests.attacks import suite

    for case in (*suite.attacks(), *suite.twins()):
        if not case.slow:
            name = f"attacks/{case.name.replace('/', '_')}"
            yield Program(name, _python(name, case.code), case.task, policy=case.policy)


def collect(all_of_them: Sequence[Program], keep: Path, jobs: int) -> None:
    """Grade each program that is not kept yet, in processes."""
    waiting = [one for one in all_of_them if not _file(keep, one.name).exists()]
    with ProcessPoolExecutor(jobs) as pool:
        futures = {pool.submit(_collect_one, one, keep): one.name for one in waiting}
        for number, future in enumerate(as_completed(futures), 1):
            print(f"{number}/{len(waiting)} {futures[future]}: {future.result()}", flush=True)


def _collect_one(program: Program, keep: Path) -> str:
    import coverage

    measure = coverage.Coverage(
        data_file=None, include=[f"{ROOT}/grader/{room}/*" for room in ROOMS]
    )
    measure.start()
    made = review(_grading(program), program.sample)
    measure.stop()
    data = measure.get_data()
    ran = {
        str(Path(name).relative_to(ROOT)): sorted(data.lines(name) or ())
        for name in data.measured_files()
    }
    kept = {
        "program": _labels(program),
        "review": json.loads(made.model_dump_json()),
        "inspection": [_summary(one) for one in inspect(program, made)],
        "lines": ran,
    }
    path = _file(keep, program.name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(kept), "utf-8")
    return made.verdict.status


def _grading(program: Program, **options: Any) -> pipeline.GradingContext:
    chosen = Options(
        device="sim",
        repair=True,
        task=program.task,
        tasks=program.tasks,
        policy=program.policy,
        **options,
    )
    return pipeline.open_context(chosen, Store(), SEED)


def _labels(program: Program) -> dict[str, Any]:
    known = asdict(program)
    return {name: known[name] for name in ("name", "task", "policy", "rules", "lines")}


def inspect(program: Program, made: Review) -> tuple[Finding, ...]:
    """Inspect a program again with its kept evaluation."""
    sample, grading = program.sample, _grading(program)
    extraction = extract(sample)
    if extraction.submission is None:
        return ()
    task = choose(sample, extraction, task=program.task, tasks_dir=program.tasks).task
    if task is not None and not task.workloads:
        task = describe_draft(grading, task)
    examiner = Examiner(grading, task, sample, extraction)
    return examiner.inspect(extraction.submission, made.evaluation).findings


def _summary(finding: Finding) -> dict[str, Any]:
    return {
        "rule": finding.rule,
        "line": finding.place.line if finding.place else 0,
        "severity": finding.severity,
        "confidence": finding.confidence,
        "also": sorted(finding.also),
        "fixes": [
            [one.label, *((edit.start, edit.end, edit.text) for edit in one.edits)]
            for one in finding.fixes
        ],
    }


def _file(keep: Path, name: str) -> Path:
    return keep / f"{name}.json"


@dataclass
class Use:
    """What the bank says, summed."""

    programs: int = 0
    spoken: Counter[str] = field(default_factory=Counter)
    alone: Counter[str] = field(default_factory=Counter)
    repaired: Counter[str] = field(default_factory=Counter)
    ran: dict[str, Counter[int]] = field(default_factory=lambda: defaultdict(Counter))


def summed(keep: Path) -> Use:
    """Read the whole bank."""
    use = Use()
    for path in sorted(keep.rglob("*.json")):
        kept = json.loads(path.read_text("utf-8"))
        use.programs += 1
        named = [{item["rule"], *item["also"]} for item in kept["review"]["findings"]]
        use.spoken.update({code for codes in named for code in codes})
        wanted = set(kept["program"]["rules"])
        right = {code for codes in named for code in codes if code in wanted}
        use.alone.update(right if len(right) == 1 else ())
        for repair in kept["review"]["repairs"]:
            use.repaired.update(
                {fix["label"] for fix in repair.get("fixes", ()) if repair["kind"] == "fix"}
            )
        for name, lines in kept["lines"].items():
            use.ran[name].update(lines)
    return use


def report(keep: Path, *, unused: bool) -> None:
    """Print the tables."""
    from grader.rules.registry import all_rules

    use = summed(keep)
    print(
        f"{use.programs} programs\n\n| rule | programs | alone right | lines |\n|---|---|---|---|"
    )
    for code, rule in all_rules().items():
        file = sys.modules[rule.check.__module__].__file__ or ""
        size = len(Path(file).read_text("utf-8").splitlines()) if file else 0
        print(f"| {code} {rule.name} | {use.spoken[code]} | {use.alone[code]} | {size} |")
    print("\n| fix | in repairs of |\n|---|---|")
    for label, count in use.repaired.most_common():
        print(f"| {label[:100]} | {count} |")
    _print_functions(use, unused=unused)


def _print_functions(use: Use, *, unused: bool) -> None:
    print(
        "\n| file | lines | in functions that no program runs | in functions of at most 2 programs |\n|---|---|---|---|"
    )
    never = seldom = 0
    for room in ROOMS:
        for path in sorted((ROOT / "grader" / room).rglob("*.py")):
            name = str(path.relative_to(ROOT))
            rows = list(_functions(path, use.ran.get(name, Counter())))
            idle = [row for row in rows if row[2] == 0]
            rare = [row for row in rows if 0 < row[2] <= 2]
            never, seldom = (
                never + sum(row[1] for row in idle),
                seldom + sum(row[1] for row in rare),
            )
            if idle or rare:
                print(
                    f"| {name} | {len(path.read_text('utf-8').splitlines())} | {_named(idle)} | {_named(rare)} |"
                )
            if unused:
                _print_lines(path, use.ran.get(name, Counter()))
    print(
        f"\n{never} lines in functions that no program runs, {seldom} in functions of one or two programs."
    )


def _named(rows: list[tuple[str, int, int]]) -> str:
    return f"{sum(row[1] for row in rows)}: {' '.join(row[0] for row in rows)}" if rows else "0"


def _functions(path: Path, ran: Counter[int]) -> Iterator[tuple[str, int, int]]:
    """Yield each function with its number of lines and the number of programs in which its body ran."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.FunctionDef):
            body = range(node.body[0].lineno, (node.end_lineno or 0) + 1)
            yield (
                node.name,
                (node.end_lineno or 0) - node.lineno + 1,
                max((ran[line] for line in body), default=0),
            )


def _print_lines(path: Path, ran: Counter[int]) -> None:
    """Print the statements in functions that ran for some program, which none of them came to."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if not isinstance(node, ast.FunctionDef) or not any(
            ran[line] for line in range(node.body[0].lineno, (node.end_lineno or 0) + 1)
        ):
            continue
        for inner in ast.walk(node):
            if (
                isinstance(inner, ast.stmt)
                and inner is not node
                and not ran[inner.lineno]
                and not _is_text(inner)
            ):
                print(
                    f"    {path.relative_to(ROOT)}:{inner.lineno} never: {ast.unparse(inner).splitlines()[0][:90]}"
                )


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def check(all_of_them: Sequence[Program], keep: Path, jobs: int) -> int:
    """Inspect again, print what differs, and return how many programs differ."""
    known = [one for one in all_of_them if _file(keep, one.name).exists()]
    with ProcessPoolExecutor(jobs) as pool:
        differing = [text for text in pool.map(_differences, known, [keep] * len(known)) if text]
    print("\n".join(differing))
    print(f"{len(differing)} of {len(known)} programs differ")
    return len(differing)


def _differences(program: Program, keep: Path) -> str:
    kept = json.loads(_file(keep, program.name).read_text("utf-8"))
    made = Review.model_validate(kept["review"])
    now = json.loads(json.dumps([_summary(one) for one in inspect(program, made)]))
    before = kept["inspection"]
    gone = [one for one in before if one not in now]
    new = [one for one in now if one not in before]
    if not gone and not new:
        return ""
    return "\n  ".join(
        [program.name, *(f"- {_short(one)}" for one in gone), *(f"+ {_short(one)}" for one in new)]
    )


def _short(one: dict[str, Any]) -> str:
    labels = "; ".join(fix[0][:60] for fix in one["fixes"])
    return f"{one['rule']}@{one['line']} {one['severity']} {one['confidence']} also {' '.join(one['also'])} [{labels}]"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["collect", "report", "check"])
    parser.add_argument("folders", nargs="*", type=Path, help="further samples")
    parser.add_argument("--keep", type=Path, required=True)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", default=",".join(GROUPS))
    parser.add_argument("--tasks", type=Path, help="problem files of the further samples")
    parser.add_argument(
        "--unused", action="store_true", help="print each statement that no program comes to"
    )
    given = parser.parse_args()
    if given.what == "report":
        report(given.keep, unused=given.unused)
        return 0
    chosen = programs([one for one in given.only.split(",") if one], given.folders, given.tasks)
    if given.what == "collect":
        collect(chosen, given.keep, given.jobs)
        return 0
    return min(1, check(chosen, given.keep, given.jobs))


if __name__ == "__main__":
    raise SystemExit(main())
