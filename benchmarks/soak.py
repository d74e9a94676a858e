"""A long run's memory, descriptors, processes and files: what one grading of many answers leaves behind.

    python benchmarks/soak.py [--rounds 3] [--each 40] [--jobs 2] [--seconds N] [--tasks FOLDER] [--no-repair | --reward] [PATH ...]
    python benchmarks/soak.py --reward --rounds 3 --each 667 --jobs 16 --problems KernelBench    # 2,001 gradings of 268 problems

One process grades `--each` answers a round, in an empty cache: the labelled kernels and seeded defects of
tests/corpus, or the answers under the paths; with `--problems` first an answer of ours to each problem below that folder,
all but one of four wrong. Each round has them with a comment of its own, so that no answer is known from the round before. Once a
second it looks at the process that leads and at those below it. Prints a line for every `STEP` gradings:
the most memory of the leader, of any other of our processes, of all with guests, and the leader's descriptors; then
what is left when all is over, or when it was cut after `--seconds`. Exits with 1 where something is left or the leader grew past `LEADER_MB` or a worker past `WORKER_MB`.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from grader.ingest import read_samples  # noqa: E402
from tests.corpus import corpus  # noqa: E402

LEADER_MB, WORKER_MB = 600, 1500
MARK = "SOAK_OF_A_GRADER"
STEP = 50
"""Gradings from one line to the next."""
INTERRUPTED = 130
"""The exit status of a grading that was interrupted."""
OWN_ANSWER = '''{problem}

from torch.utils.cpp_extension import load_inline

scaled = load_inline(
    name="scaled",
    cpp_sources="torch::Tensor scaled(torch::Tensor x);",
    cuda_sources="""
__global__ void scale(const float* x, float* y, long n) {{
    long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] * {factor}f;
}}
torch::Tensor scaled(torch::Tensor x) {{
    auto y = torch::empty_like(x);
    scale<<<(x.numel() + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
    return y;
}}""",
    functions=["scaled"],
)


class ModelNew(Problem):
    def forward(self, *inputs):
        return scaled.scaled(super().forward(*inputs).contiguous())
'''
"""torch's result through a kernel, which changes it in all but one of four."""


@dataclass(frozen=True)
class Process:
    """What /proc says of one process."""

    pid: int
    parent: int
    resident: float
    """Megabytes."""
    command: str


def processes() -> dict[int, Process]:
    """Return every process that can be looked at."""
    found: dict[int, Process] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            rows = dict(
                line.split(":\t", 1)
                for line in (folder / "status").read_text("utf-8").splitlines()
                if ":\t" in line
            )
            command = (
                (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
            )
        except OSError:
            continue
        size = float(rows.get("VmRSS", "0 kB").split()[0]) / 1024
        found[int(folder.name)] = Process(int(folder.name), int(rows["PPid"]), size, command)
    return found


def below(leader: int, known: dict[int, Process]) -> Iterator[Process]:
    """Yield the descendants of a process."""
    todo = [leader]
    while todo:
        parent = todo.pop()
        for one in known.values():
            if one.parent == parent:
                todo.append(one.pid)
                yield one


def marked(token: str) -> list[str]:
    """Return the commands of all processes that have the token in their environment."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if token.encode() in (folder / "environ").read_bytes():
                found.append((folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()[:100])
        except OSError:
            continue
    return found


@dataclass
class Peak:
    """The most that was seen in one round."""

    leader: float = 0
    worker: float = 0
    all: float = 0
    descriptors: int = 0

    def see(self, leader: int) -> None:
        """Look once."""
        known = processes()
        if leader not in known:
            return
        under = list(below(leader, known))
        workers = [
            one.resident for one in under if "grader.scheduling.worker_process" in one.command
        ]
        self.leader = max(self.leader, known[leader].resident)
        self.worker = max([self.worker, *workers])
        self.all = max(self.all, known[leader].resident + sum(one.resident for one in under))
        try:
            self.descriptors = max(
                self.descriptors, len(list(Path(f"/proc/{leader}/fd").iterdir()))
            )
        except OSError:
            return


def answers(paths: Sequence[Path]) -> Iterator[dict[str, object]]:
    """Yield rows of JSONL without their ids."""
    if paths:
        for sample in read_samples(list(paths)):
            known = sample.kernelbench
            task: dict[str, object] = (
                {"level": known.level, "problem_id": known.problem} if known else {}
            )
            yield {
                "text": sample.text,
                **({"task": sample.task_hint} if sample.task_hint else task),
            }
        return
    for label in (*corpus.originals(), *corpus.mutants()):
        yield {"text": label.code, "task": label.task}


def own_answers(problems: Path | None) -> Iterator[dict[str, object]]:
    """Yield a row for each problem file below a folder."""
    for number, file in enumerate(sorted(problems.rglob("*.py") if problems else ())):
        problem, factor = file.read_text("utf-8"), "1.0" if number % 4 == 0 else "1.01"
        text = OWN_ANSWER.format(problem=re.sub(r"\bModel\b", "Problem", problem), factor=factor)
        yield {"text": text, "task": problem}


def written(file: Path, options: argparse.Namespace) -> int:
    """Write the answers of all rounds; return how many there are."""
    own = list(own_answers(options.problems))
    some = [*own, *islice(cycle(answers(options.paths)), max(0, options.each - len(own)))]
    random.Random(1).shuffle(some)
    with file.open("w", encoding="utf-8") as out:
        for turn in range(options.rounds):
            for number, row in enumerate(some):
                text = f"# round {turn}, answer {number}\n{row['text']}"
                out.write(json.dumps({**row, "id": f"{turn}_{number}", "text": text}) + "\n")
    return int(options.rounds * len(some))


def entries(*folders: str) -> set[str]:
    """Return what lies in these folders."""
    return {str(path) for folder in folders for path in Path(folder).glob("*")}


def soak(options: argparse.Namespace, room: Path) -> list[Peak]:
    """Run it all; return the peaks, one for every `STEP` gradings."""
    total = written(room / "answers.jsonl", options)
    token = uuid.uuid4().hex
    call = [
        sys.executable,
        str(ROOT / "grade.py"),
        str(room / "answers.jsonl"),
        "--out",
        str(room / "out"),
    ]
    call += [
        "--cache",
        str(room / "cache"),
        "--jobs",
        str(options.jobs),
        *(["--no-repair"] if options.no_repair else []),
    ]
    call += ["--tasks", str(options.tasks)] if options.tasks else []
    if options.reward:
        call = _as_rewards(room, options)
    env = {**os.environ, MARK: token, "TMPDIR": str(room / "tmp"), "PYTHONPATH": str(ROOT)}
    with (room / "log").open("wb") as log:
        run = subprocess.Popen(call, env=env, cwd=ROOT, stdout=log, stderr=log)
        peaks = _watched(run, room / "out" / "results.jsonl", options)
    left = marked(token)
    print(
        f"exit {run.returncode}; processes left: {left or 'none'}; temporary files left: {sorted(entries(str(room / 'tmp'))) or 'none'}"
    )
    graded = (
        _lines(room / "out" / "results.jsonl") if (room / "out" / "results.jsonl").exists() else 0
    )
    print("\n".join(_verdicts(room / "out" / "results.jsonl")))
    cut = run.returncode == INTERRUPTED or (graded < total and run.returncode == 0)
    print(f"{graded} of {total} graded{', cut' if cut else ''}")
    if (graded != total and not cut) or left:
        print((room / "log").read_text("utf-8", "replace")[-2000:])
        peaks.append(Peak(leader=float("inf")))
    return peaks


def _as_rewards(room: Path, options: argparse.Namespace) -> list[str]:
    """Return the call of a process that grades them as a training loop does."""
    (room / "out").mkdir()
    given = {"device": "sim", "cache": str(room / "cache"), "jobs": options.jobs}
    out, most = str(room / "out" / "results.jsonl"), min(options.seconds, 1e6)
    asked = {"options": given, "out": out, "most_seconds": most}
    driver = str(ROOT / "benchmarks" / "answer_times.py")
    answers = str(room / "answers.jsonl")
    return [sys.executable, driver, "--one", answers, "--options", json.dumps(asked)]


def _watched(run: subprocess.Popen[bytes], rows: Path, options: argparse.Namespace) -> list[Peak]:
    peaks, begun = [Peak()], time.monotonic()
    # A process that grades for a training loop ends in time by itself.
    until = options.seconds + (120 if options.reward else 0)
    while run.poll() is None:
        if time.monotonic() - begun > until:
            run.send_signal(signal.SIGINT)
            run.wait(60)
            break
        done = _lines(rows) if rows.exists() else 0
        if done >= STEP * len(peaks):
            _show(done, peaks[-1], begun)
            peaks.extend(Peak() for _ in range(done // STEP + 1 - len(peaks)))
        peaks[-1].see(run.pid)
        time.sleep(1)
    _show(_lines(rows) if rows.exists() else 0, peaks[-1], begun)
    return peaks


def _verdicts(rows: Path) -> Iterator[str]:
    """Yield a line of verdicts for each round."""
    rounds: dict[str, Counter[str]] = {}
    for line in rows.read_text("utf-8").splitlines() if rows.exists() else ():
        row = json.loads(line)
        name = str(row.get("id") or row.get("sample"))
        rounds.setdefault(name.partition("_")[0], Counter())[row["status"]] += 1
    for number, found in sorted(rounds.items()):
        yield f"round {number}: {dict(found.most_common())}"


def _lines(file: Path) -> int:
    with file.open("rb") as lines:
        return sum(1 for _ in lines)


def _show(done: int, peak: Peak, begun: float) -> None:
    print(
        f"{done} graded: leader {peak.leader:.0f} MB, largest worker {peak.worker:.0f} MB, all with guests {peak.all:.0f} MB, "
        f"{peak.descriptors} descriptors, {time.monotonic() - begun:.0f} s",
        flush=True,
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("paths", nargs="*", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--each", type=int, default=40)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="interrupt it then")
    parser.add_argument("--tasks", type=Path)
    parser.add_argument("--problems", type=Path, help="an answer of ours to each of these")
    parser.add_argument("--no-repair", action="store_true")
    parser.add_argument("--reward", action="store_true", help="through grader.reward")
    options = parser.parse_args()
    shared = entries("/dev/shm")
    with tempfile.TemporaryDirectory(prefix="soak-") as room:
        Path(room).chmod(0o755)
        (Path(room) / "tmp").mkdir()
        peaks = soak(options, Path(room))
    left = entries("/dev/shm") - shared
    print(f"shared memory left: {sorted(left) or 'none'}")
    small = all(peak.leader < LEADER_MB and peak.worker < WORKER_MB for peak in peaks)
    return 0 if small and not left else 1


if __name__ == "__main__":
    raise SystemExit(main())
