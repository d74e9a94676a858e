"""Verdicts a second on the simulator, as a training loop asks for them, beside another version of this tree.

    python benchmarks/answer_times.py ANSWERS PROBLEMS [--against TREE] [--jobs 16] [--most-seconds 90] [--runs cold,prepared,whole]
    python benchmarks/answer_times.py ROWS.jsonl [--against TREE] ...
    python benchmarks/answer_times.py --labelled 200 [--against TREE] [--room FOLDER]

ANSWERS and PROBLEMS are as in `charged_failures.py`, ROWS.jsonl has an `id`, a `text` and a `task` a line; TREE is a folder of an earlier version's files; `--labelled` draws from
the reference kernels and their seeded defects. Each version has a cache of its own, in which one sample of ours is graded
first, before any clock, so that headers and simulator are prepared; of the answers nothing is known (`--room`
keeps the caches for the next call, which forgets all but what was prepared). Then `grader.reward.Grader` is asked for all of them,
`--jobs` at once: the other version's (`before`), this one's that knows nothing of the problems either (`cold`), this one's after
`Grader.prepare`, as from a training run's second step on (`prepared`), and that with every look (`whole`). Prints for each the wall time, verdicts a second, the median, p90, p99 and longest seconds of an answer, how many of the wrong ones took
at most `SETTLED` seconds, the costliest stages, the slowest answers, and the verdicts that differ from those of `whole` or `before`.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median, quantiles
from typing import Any

from charged_failures import Answer, found
from run_folder import ROOT

SETTLED = 2.0
"""Seconds in which nine of ten wrong answers should be settled."""
PREPARING = 300.0
"""Seconds that headers and simulator may take."""
KNOWING = frozenset({"prepared", "whole"})
"""Runs before which each problem is described and its reference asked."""
SHOWN = 5
"""Answers shown with their stages, slowest first."""


@dataclass(frozen=True)
class Run:
    """One version's run over all answers."""

    name: str
    wall: float
    asked: int
    rows: Mapping[str, Mapping[str, Any]]


def main() -> int:
    """Run all; print a block for each."""
    options = _options()
    if options.one:
        return ask(options.one, json.loads(options.options))
    trees = {"now": ROOT, **({"before": options.against.resolve()} if options.against else {})}
    with _room(options.room) as room:
        _prepare(trees, room, options)
        answers = room / "answers.jsonl"
        rows = _rows(options)
        answers.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
        runs: list[Run] = []
        for name in (*[one for one in trees if one != "now"], *options.runs.split(",")):
            version = name if name in trees else "now"
            more = {"settle_early": name != "whole"} if version == "now" else {}
            cache, known = room / f"cache-{version}", name in KNOWING
            runs.append(asked(name, trees[version], cache, answers, options, more, known=known))
            print(told(runs[-1], runs[0]), flush=True)
        if runs[-1].name == "whole" and len(runs) > 1:
            print(*_rewards(runs[-2], runs[-1]), sep="\n")
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("answers", type=Path, nargs="?")
    parser.add_argument("problems", type=Path, nargs="?")
    parser.add_argument("--labelled", type=int, help="this many labelled programs")
    parser.add_argument("--against", type=Path, help="an earlier version's files")
    parser.add_argument("--only", default="*", help="glob of file names")
    parser.add_argument("--jobs", type=int, default=16)
    parser.add_argument("--most-seconds", type=float, default=600, help="of one run")
    parser.add_argument("--runs", default="cold,prepared,whole")
    parser.add_argument("--room", type=Path, help="keep the caches there")
    parser.add_argument("--one", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--options", default="{}", help=argparse.SUPPRESS)
    return parser.parse_args()


@contextmanager
def _room(kept: Path | None) -> Iterator[Path]:
    """Yield a folder that guests may pass."""
    with tempfile.TemporaryDirectory(prefix="answer-times-") as name:
        room = kept.resolve() if kept else Path(name)
        room.mkdir(parents=True, exist_ok=True)
        room.chmod(0o755)
        yield room


def _rows(options: argparse.Namespace) -> Iterator[Mapping[str, str]]:
    if options.labelled:
        return _labelled(options.labelled)
    if options.answers.suffix == ".jsonl":
        return map(json.loads, options.answers.read_text("utf-8").splitlines())
    return _public(options)


def _labelled(count: int) -> Iterator[Mapping[str, str]]:
    sys.path.insert(0, str(ROOT))
    from tests.corpus import corpus

    for one in random.Random(1).sample([*corpus.originals(), *corpus.mutants()], count):
        yield {"id": one.name, "text": one.code, "task": one.task}


def _public(options: argparse.Namespace) -> Iterator[Mapping[str, str]]:
    for answer in found(options.answers, options.problems, options.only):
        yield as_row(answer)


def as_row(answer: Answer) -> Mapping[str, str]:
    """Return what is asked of an answer."""
    text, problem = (path.read_text("utf-8") for path in (answer.path, answer.problem))
    name = f"{answer.path.parent.name}/{answer.level}/{answer.number}"
    return {"id": name, "text": text, "task": problem}


def _prepare(trees: Mapping[str, Path], room: Path, options: argparse.Namespace) -> None:
    """Grade one sample in each cache, all at once, which prepares headers and simulator."""
    began = time.monotonic()
    sample = room / "first.jsonl"
    text = (ROOT / "samples" / "gelu_vectorized.txt").read_text("utf-8")
    sample.write_text(json.dumps({"id": "first", "text": text}) + "\n", "utf-8")
    patient = argparse.Namespace(jobs=options.jobs, most_seconds=PREPARING)
    started = [
        _begin(tree, room / f"cache-{name}", sample, room / f"first-{name}.jsonl", patient, {})
        for name, tree in trees.items()
    ]
    ended = [process.wait() for process in started]
    print(f"prepared in {time.monotonic() - began:.0f} s, {ended}", flush=True)


def _begin(
    tree: Path,
    cache: Path,
    answers: Path,
    out: Path,
    options: argparse.Namespace,
    more: Mapping[str, Any],
    *,
    known: bool = False,
) -> subprocess.Popen[bytes]:
    """Have a version's own files judge all answers into a file; first prepare their problems, where they are to be `known`."""
    given = {"device": "sim", "cache": str(cache), "jobs": options.jobs, **more}
    most = options.most_seconds
    said = {"options": given, "out": str(out), "most_seconds": most, "known": known}
    return _start(tree, [__file__, "--one", str(answers), "--options", json.dumps(said)])


def _start(tree: Path, words: Sequence[str]) -> subprocess.Popen[bytes]:
    """Start a program with a version's files; what it prints goes to standard error."""
    own = {**os.environ, "PYTHONPATH": str(tree)}
    return subprocess.Popen([sys.executable, *words], cwd=tree, env=own, stdout=sys.stderr)


def asked(
    name: str,
    tree: Path,
    cache: Path,
    answers: Path,
    options: argparse.Namespace,
    more: Mapping[str, Any],
    *,
    known: bool = False,
    forget: Sequence[str] = ("builds", "*-by-content"),
) -> Run:
    """Have a version's own files judge all answers, with nothing known of them, and of their problems only where it is said."""
    for kept in [path for pattern in forget for path in cache.glob(pattern)]:
        shutil.rmtree(kept, ignore_errors=True)
    out = answers.with_name(f"rows-{name}.jsonl")
    out.unlink(missing_ok=True)
    with _begin(tree, cache, answers, out, options, more, known=known) as process:
        process.wait()
    rows = [json.loads(line) for line in out.read_text("utf-8").splitlines()]
    wall = max((row["at"] for row in rows), default=options.most_seconds)
    count = len(answers.read_text("utf-8").splitlines())
    return Run(name, wall, count, {row["id"]: row for row in rows})


def ask(answers: Path, told_once: Mapping[str, Any]) -> int:
    """Judge answers in this process, with the version on PYTHONPATH; write each verdict as it comes."""
    import grader as package
    from grader.config import Options
    from grader.reward import Grader

    assert Path.cwd() in Path(package.__file__).parents, f"{package.__file__}: another version"
    rows = [json.loads(line) for line in answers.read_text("utf-8").splitlines()]
    options = Options(**told_once["options"])
    with Grader(options) as grader, Path(told_once["out"]).open("w", encoding="utf-8") as out:
        began = time.monotonic()
        if told_once.get("known"):
            grader.prepare({row["task"] for row in rows})
            print(f"problems prepared in {time.monotonic() - began:.0f} s", file=sys.stderr)
        began = time.monotonic()
        with ThreadPoolExecutor(options.jobs) as pool:
            futures = [pool.submit(_judge, grader, row, began) for row in rows]
            try:
                for future in as_completed(futures, told_once["most_seconds"]):
                    line = json.dumps(future.result())
                    print(line, file=out, flush=True)
                    print(line, file=sys.stderr, flush=True)
            except TimeoutError:
                for waiting in futures:
                    waiting.cancel()
    return 0


def _judge(grader: Any, row: Mapping[str, str], began: float) -> dict[str, Any]:
    from grader.reward import Answer

    answer, start = Answer(**row), time.monotonic()
    if hasattr(grader, "look"):
        graded = grader.look(answer)
        reward, evaluation = graded.reward, graded.assessment.evaluation
    else:
        reward = grader.submit(answer).result()
        evaluation = reward.evaluation
    now = time.monotonic()
    took = {"seconds": round(now - start, 2), "at": round(now - began, 2)}
    stages = {name: round(value, 2) for name, value in evaluation.seconds.items()}
    said = {"id": row["id"], "status": reward.status, "value": reward.value}
    return {**said, **took, "stages": stages, "why": evaluation.verdict.sentence[:200]}


def told(run: Run, first: Run) -> str:
    """Return a run's block."""
    seconds = sorted(row["seconds"] for row in run.rows.values()) or [0.0]
    wrong = [row for row in run.rows.values() if row["status"] != "correct"]
    quick = sum(row["seconds"] <= SETTLED for row in wrong)
    cuts = quantiles(seconds if len(seconds) > 1 else seconds * 2, n=100, method="inclusive")
    head = (
        f"{run.name}: {len(run.rows)} of {run.asked} answers in {run.wall:.1f} s, {len(run.rows) / run.wall:.2f} a second; "
        f"each {median(seconds):.1f} s median, {cuts[89]:.1f} p90, {cuts[98]:.1f} p99, {seconds[-1]:.1f} longest; "
        f"{quick} of {len(wrong)} wrong ones within {SETTLED:.0f} s"
    )
    return "\n".join([head, _stages(run), *_slowest(run), *_differ(run, first)])


def _stages(run: Run) -> str:
    spent: Counter[str] = Counter()
    for row in run.rows.values():
        spent.update(row["stages"])
    return "  stages: " + ", ".join(f"{stage} {took:.0f} s" for stage, took in spent.most_common(8))


def _slowest(run: Run) -> Iterator[str]:
    for row in sorted(run.rows.values(), key=lambda one: -one["seconds"])[:SHOWN]:
        stages = " ".join(f"{stage} {took}" for stage, took in row["stages"].items() if took > 1)
        yield f"  slowest: {row['id']} {row['status']} {row['seconds']} s: {stages}"


def _differ(run: Run, first: Run) -> Iterator[str]:
    for name, row in sorted(run.rows.items()):
        before = first.rows.get(name, row)["status"]
        if before != row["status"]:
            yield f"  {name}: {before} ({first.name}), {row['status']} ({run.name})"


def _rewards(now: Run, whole: Run) -> Iterator[str]:
    """Tell how many rewards are the same with every look, and which are not."""
    both = sorted(now.rows.keys() & whole.rows.keys())
    other = [name for name in both if now.rows[name]["value"] != whole.rows[name]["value"]]
    yield f"rewards the same with every look: {len(both) - len(other)} of {len(both)}"
    for name in other:
        early, late = now.rows[name], whole.rows[name]
        yield f"  {name}: {early['status']} {early['value']}, whole {late['status']} {late['value']}"


if __name__ == "__main__":
    sys.exit(main())
