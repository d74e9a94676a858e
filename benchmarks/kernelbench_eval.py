"""Answers a second and verdicts, beside an evaluation by KernelBench's method, on one machine with a GPU.

    python benchmarks/kernelbench_eval.py ANSWERS PROBLEMS [--only GLOB] [--jobs 16] [--most 60] [--within 450] [--write FILE]

ANSWERS and PROBLEMS are as in `charged_failures.py`. The other side is KernelBench's method written anew, from its public
description: an answer's extension is built in a process without a GPU, as many at once as `--jobs`; then one process at a time has
the GPU: seeded weights, five trials of seeded inputs with `allclose` at 1e-4, and where all pass, 100 timed calls of the
answer and of the reference, the cache flushed before each. Each side runs twice: `cold` with no build known, `warm` with
its builds kept and nothing else. Prints each of the four as it ends, with its seconds and answers a second, and which verdicts
differ; each answer of the other side goes to standard error as it comes. After `--within` seconds, or at SIGTERM, it prints what it has.

Answers are untrusted, and the method has no sandbox: only on a machine that is thrown away.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from answer_times import as_row, asked
from charged_failures import Answer, found
from run_folder import ROOT

THEIRS, OURS = "KernelBench's method", "kernel-grader"
INTERRUPTED = 143
"""The exit status at SIGTERM."""
TRIALS, WARM_UPS, CALLS = 5, 3, 100
SEED, TOLERANCE = 42, 1e-4
FLUSHED = 256 << 20
"""Bytes that are written before a timed call, more than any cache has."""


def main() -> int:
    """Run both sides twice; print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("answers", type=Path)
    parser.add_argument("problems", type=Path)
    parser.add_argument("--only", default="*", help="glob of file names")
    parser.add_argument("--jobs", default="16")
    parser.add_argument("--most", type=int, default=60)
    parser.add_argument("--every", type=int, default=1, help="take each so-manieth answer ...")
    parser.add_argument("--start", type=int, default=0, help="... from this one on")
    parser.add_argument("--device", default="cuda", help="cpu: a trial of this script")
    parser.add_argument("--seconds", type=float, default=180, help="of one process")
    parser.add_argument("--within", type=float, default=450, help="seconds, of all together")
    parser.add_argument("--write", type=Path, help="write the verdicts there, as JSON")
    parser.add_argument("--one", choices=("build", "judge"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        return one(options.one, options.answers, options.problems, options.device)
    every, start = options.every, options.start
    answers = list(found(options.answers, options.problems, options.only))[start::every]
    answers = answers[: options.most]
    options.until = time.monotonic() + options.within
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(INTERRUPTED))
    said: dict[str, list[Any]] = {}
    with tempfile.TemporaryDirectory(prefix="beside-kernelbench-") as name:
        Path(name).chmod(0o755)
        try:
            run_sides(answers, Path(name), options, said)
        finally:
            report(answers, said, options.write)
    return 0


def run_sides(
    answers: list[Answer], room: Path, options: argparse.Namespace, said: dict[str, list[Any]]
) -> None:
    """Run each side cold and warm; print each when it is over, and add what it said."""
    _prepare(room / "ours", options)
    sides: dict[str, tuple[Callable[..., None], Path]] = {
        THEIRS: (judged, room / "theirs"),
        OURS: (graded, room / "ours"),
    }
    for build in ("cold", "warm"):
        for side, (run, folder) in sides.items():
            rows = said[f"{side}, {build}"] = []
            began = time.monotonic()
            try:
                run(answers, folder, options, rows)
            finally:
                seconds = max(time.monotonic() - began, 1e-3)
                done = sum(row is not None for row in rows)
                rate = f"{done / seconds:.2f} answers a second"
                print(
                    f"{side}, {build}: {done} of {len(answers)} in {seconds:.0f} s, {rate}",
                    flush=True,
                )


def report(answers: Sequence[Answer], said: Mapping[str, list[Any]], file: Path | None) -> None:
    """Print where the sides differ on what both came to, warm verdicts before cold ones; write all of it."""
    theirs, ours = (
        next((said[name] for name in (f"{side}, warm", f"{side}, cold") if said.get(name)), [])
        for side in (THEIRS, OURS)
    )
    both = [one for one in zip(answers, theirs, ours, strict=False) if None not in one[1:]]
    differ = differences(both)
    print(f"{len(both) - len(differ)} of {len(both)} verdicts agree", *differ, sep="\n", flush=True)
    if file:
        file.write_text(json.dumps(said, indent=1, default=str), "utf-8")


def differences(both: Sequence[tuple[Answer, Mapping[str, Any], str]]) -> list[str]:
    """Return a line for each answer that one side calls correct and the other doesn't."""
    return [
        f"{answer.path.name}: {'correct' if said['correct'] else 'wrong'} by {THEIRS}, here {status}"
        for answer, said, status in both
        if said["correct"] != (status == "correct")
    ]


def graded(
    answers: list[Answer], cache: Path, options: argparse.Namespace, rows: list[str | None]
) -> None:
    """Add our verdicts, as rewards with every look; of an earlier run the builds alone are known."""
    file = cache.with_suffix(".jsonl")
    asked_rows = [dict(as_row(answer)) for answer in answers]
    file.write_text("".join(json.dumps(row) + "\n" for row in asked_rows), "utf-8")
    device = "sim" if options.device == "cpu" else options.device
    left = argparse.Namespace(jobs=int(options.jobs), most_seconds=options.until - time.monotonic())
    more = {"device": device, "settle_early": False, "torch_compile": False}
    run = asked("ours", ROOT, cache, file, left, more, forget=("*-by-content",))
    found_rows = [run.rows.get(row["id"]) for row in asked_rows]
    rows += [
        None if row is None or row["status"] == "not_run" else row["status"] for row in found_rows
    ]


def _prepare(cache: Path, options: argparse.Namespace) -> None:
    """Grade one sample before any clock, which prepares headers and simulator."""
    began = time.monotonic()
    file = cache.with_name("first.jsonl")
    text = (ROOT / "samples" / "gelu_vectorized.txt").read_text("utf-8")
    file.write_text(json.dumps({"id": "first", "text": text}) + "\n", "utf-8")
    device = "sim" if options.device == "cpu" else options.device
    few = argparse.Namespace(jobs=int(options.jobs), most_seconds=options.within)
    asked("first", ROOT, cache, file, few, {"device": device, "timing": False})
    print(f"prepared in {time.monotonic() - began:.0f} s", flush=True)


def judged(
    answers: Sequence[Answer],
    builds: Path,
    options: argparse.Namespace,
    rows: list[dict[str, Any] | None],
) -> None:
    """Add the method's verdicts: all builds side by side, then one answer at a time."""

    def run(step: str, answer: Answer) -> dict[str, Any]:
        folder = builds / f"{answer.level}_{answer.number}_{answer.path.stem}"
        folder.mkdir(parents=True, exist_ok=True)
        hidden = {"CUDA_VISIBLE_DEVICES": ""} if step == "build" else {}
        own = {**os.environ, "TORCH_EXTENSIONS_DIR": str(folder), "MAX_JOBS": "2", **hidden}
        own |= {"TORCH_CUDA_ARCH_LIST": os.environ.get("TORCH_CUDA_ARCH_LIST", "9.0")}
        began, left = time.monotonic(), options.until - time.monotonic()
        if left <= 0:
            return {"correct": False, "failure": "no time left"}
        words = [*script(options.device), "--one", step, *paths(answer)]
        said = last_line(words, own, min(options.seconds, left))
        took = f"{time.monotonic() - began:.1f} s"
        print(step, answer.path.name, took, said["failure"], file=sys.stderr, flush=True)
        return said

    with ThreadPoolExecutor(int(options.jobs)) as pool:
        list(pool.map(lambda answer: run("build", answer), answers))
    for answer in answers:
        said = run("judge", answer)
        rows.append(said if time.monotonic() < options.until else None)


def script(device: str) -> list[str]:
    """Return the call of this file for one answer."""
    return [sys.executable, str(Path(__file__).resolve()), "--device", device]


def paths(answer: Answer) -> list[str]:
    """Return an answer's and its problem's path."""
    return [str(answer.path.resolve()), str(answer.problem)]


def last_line(words: list[str], environment: dict[str, str], seconds: float) -> dict[str, Any]:
    """Run a process; return the JSON that it printed last, or that it failed."""
    failed = {"correct": False, "failure": "no verdict"}
    try:
        ended = subprocess.run(
            words, env=environment, capture_output=True, text=True, timeout=seconds, check=False
        )
        return {**failed, **json.loads(ended.stdout.strip().splitlines()[-1])}
    except (subprocess.TimeoutExpired, ValueError, IndexError) as error:
        return {**failed, "failure": type(error).__name__}


def one(step: str, answer: Path, problem: Path, device: str) -> int:
    """Build an answer, or judge it; prints one line of JSON."""
    said: dict[str, Any] = {"correct": False, "failure": ""}
    try:
        given = module(answer, "answer")
        if step == "judge":
            said |= judge(module(problem, "problem"), given, device)
    except BaseException as error:
        said["failure"] = f"{type(error).__name__}: {error}"[:300]
    sys.stdout.write(f"\n{json.dumps(said)}\n")
    return 0


def module(path: Path, name: str) -> Any:
    """Import a file."""
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    sys.modules[name] = loaded
    spec.loader.exec_module(loaded)
    return loaded


def judge(known: Any, given: Any, device: str) -> dict[str, Any]:
    """Return whether all trials agree, and the mean times of the answer and the reference."""
    import torch

    def seeded(seed: int, make: Callable[[], Any]) -> Any:
        torch.manual_seed(seed)
        return make()

    def inputs(seed: int) -> list[Any]:
        values = seeded(seed, known.get_inputs)
        return [x.to(device) if isinstance(x, torch.Tensor) else x for x in values]

    with torch.no_grad():
        init = seeded(SEED, known.get_init_inputs)
        reference = seeded(SEED, partial(known.Model, *init)).to(device)
        program = seeded(SEED, partial(given.ModelNew, *init)).to(device)
        for trial in range(TRIALS):
            values = inputs(SEED + trial)
            want, got = reference(*values), program(*values)
            if want.shape != got.shape or not torch.allclose(want, got, TOLERANCE, TOLERANCE):
                return {"correct": False, "failure": f"trial {trial}"}
        values = inputs(SEED)
        times = {
            "answer": mean_time(partial(program, *values), device),
            "reference": mean_time(partial(reference, *values), device),
        }
    return {"correct": True, **times}


def mean_time(call: Callable[[], Any], device: str) -> float:
    """Return the mean milliseconds of a call, with the cache flushed before each."""
    import torch

    for _ in range(WARM_UPS):
        call()
    if device == "cpu":
        return 0.0
    total, flush = 0.0, torch.empty(FLUSHED, dtype=torch.int8, device=device)
    for _ in range(CALLS):
        flush.zero_()
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        call()
        end.record()
        torch.cuda.synchronize()
        total += begin.elapsed_time(end)
    return total / CALLS


if __name__ == "__main__":
    sys.exit(main())
