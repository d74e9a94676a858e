# ruff: noqa: E402 - the path comes before the imports
"""Batches: rows per second and memory of the text-only review, a folder again, resume, workers.

    python benchmarks/batch.py stream  [--lines 100000]   JSONL read line by line: memory
    python benchmarks/batch.py text    [--samples 10000]  review of the text alone: rows a second, memory
    python benchmarks/batch.py kills   [--kills 100]      kill -9 at random moments, then the same results
    python benchmarks/batch.py again   [--folder FOLDER | --labelled 200] [--jobs N]  a folder on a machine that
                                       nothing is prepared on (cold), unchanged, its rows from the store (cached),
                                       and anew on the prepared machine (warm)
    python benchmarks/batch.py workers [--folder FOLDER | --labelled 40] [--jobs 1,2]  one worker against more, every build new
    python benchmarks/batch.py overhead [--folder FOLDER] the host's own CPU seconds among all of the machine's
    python benchmarks/batch.py reward                     answers a second through grader.reward

Each prints its figures on one line. CPU seconds are the host's own and those of what it prepares: a guest
is killed when it has answered, and the kernel then charges its time to nobody.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT)]

from benchmarks.run_folder import block, write
from tests.corpus import corpus
from tests.whole import TEXT_ONLY, command, environment, outcome, transcript, write_samples

Timed = tuple[float, float, int]
"""Wall seconds, CPU seconds of the process and its children, and the process's peak memory in MB."""


def run(arguments: list[str], cache: Path) -> Timed:
    """Run the program; raises CalledProcessError where it fails."""
    begin = time.monotonic()
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(arguments, env=environment(cache), stdout=said, stderr=said)
        _, status, usage = os.wait4(process.pid, 0)
        if status != 0:
            said.seek(0)
            raise subprocess.CalledProcessError(status, arguments, said.read())
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = (after.ru_utime - before.ru_utime) + (after.ru_stime - before.ru_stime)
    return time.monotonic() - begin, cpu, usage.ru_maxrss // 1024


def write_lines(path: Path, count: int) -> Path:
    """Write a JSONL file of different completions."""
    with path.open("w") as file:
        for number in range(count):
            record = {"id": f"answer_{number}", "completion": transcript(number)}
            file.write(json.dumps(record) + "\n")
    return path


def stream(folder: Path, arguments: argparse.Namespace) -> None:
    code = (
        "import sys, resource; from grader.ingest import read_samples\n"
        "peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024\n"
        "for count, sample in enumerate(read_samples([sys.argv[1]]), 1):\n"
        "    if count in (1, 1000, int(sys.argv[2])): print(count, 'lines', peak(), 'MB')\n"
    )
    path = write_lines(folder / "answers.jsonl", arguments.lines)
    call = [sys.executable, "-c", code, str(path), str(arguments.lines)]
    begin = time.monotonic()
    done = subprocess.run(call, cwd=ROOT, capture_output=True, text=True, check=True)
    print(f"stream: {'; '.join(done.stdout.splitlines())}; {time.monotonic() - begin:.1f} s")


def text(folder: Path, arguments: argparse.Namespace) -> None:
    for count in (arguments.samples // 10, arguments.samples):
        path = write_lines(folder / f"{count}.jsonl", count)
        call = command(path, *TEXT_ONLY, "--out", folder / f"run_{count}", "--quiet")
        wall, cpu, memory = run(call, folder / f"cache_{count}")
        print(
            f"text: {count} transcripts in {wall:.1f} s ({count / wall:.0f} a second), "
            f"{1000 * cpu / count:.1f} ms of CPU each, {memory} MB at most",
            flush=True,
        )


def kills(folder: Path, arguments: argparse.Namespace) -> None:
    samples = write_samples(folder / "samples", 8 * arguments.kills)
    run(command(samples, *TEXT_ONLY, "--out", folder / "whole", "-q"), folder / "cache_1")
    call = command(samples, *TEXT_ONLY, "--out", folder / "run", "-q")
    chance, count = random.Random(1), 0
    for _ in range(arguments.kills):
        process = subprocess.Popen(call, env=environment(folder / "cache_2"))
        try:
            process.wait(chance.uniform(0.2, 3.0))
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
        count += process.wait() == -signal.SIGKILL
    run(call, folder / "cache_2")
    same = outcome(folder / "run") == outcome(folder / "whole")
    print(f"kills: {count} of {arguments.kills} runs killed; the same results: {same}")
    if not same:
        raise SystemExit(1)


def asked_for(folder: Path, arguments: argparse.Namespace) -> Path:
    """Return the folder that is named, or a draw of the labelled programs as JSONL: correct ones and seeded defects."""
    if not arguments.labelled:
        return arguments.folder
    programs = [*corpus.originals(), *corpus.mutants()]
    drawn = random.Random(1).sample(programs, min(arguments.labelled, len(programs)))
    return write(
        [(one.name, one.task, block(one.code)) for one in drawn], folder / "labelled.jsonl"
    )


def again(folder: Path, arguments: argparse.Namespace) -> None:
    samples = asked_for(folder, arguments)
    cache, jobs = folder / "cache", ["--jobs", arguments.jobs] if arguments.jobs else []
    call = command(
        samples, "--device", arguments.device, "--no-repair", "--seed", "1", "-q", *jobs, "--out"
    )
    found: dict[str, Timed] = {}

    def measured(name: str, *more: str | Path) -> None:
        found[name] = run([*call, *more], cache)
        wall, cpu, memory = found[name]
        ratio = found["cold"][0] / wall
        print(
            f"again: {name} {wall:.2f} s, CPU {cpu:.1f} s, {memory} MB, {ratio:.1f} times",
            flush=True,
        )

    measured("cold", folder / "run")
    measured("unchanged", folder / "run")
    measured("cached", folder / "other")
    for name in ("builds", "evaluation-by-content", "review-by-content"):
        shutil.rmtree(cache / name)
    measured("warm", folder / "warm")


def device_and_tasks(arguments: argparse.Namespace) -> list[str]:
    tasks = ["--tasks", str(arguments.tasks)] if arguments.tasks else []
    return ["--device", arguments.device, *tasks]


def workers(folder: Path, arguments: argparse.Namespace) -> None:
    found: dict[int, Timed] = {}
    counts = [int(count) for count in (arguments.jobs or "1,2").split(",")]
    tasks = device_and_tasks(arguments)
    samples = asked_for(folder, arguments)
    one = ROOT / "samples" / "gelu_vectorized.txt"
    first = command(one, *tasks, "--no-repair", "-q", "--out", folder / "first")
    run(first, folder / "cache")  # prepares this machine
    for jobs in counts:
        shutil.rmtree(folder / "cache" / "builds", ignore_errors=True)
        call = command(samples, *tasks, "--no-repair", "--seed", str(jobs), "-q", "--fresh")
        found[jobs] = run(
            [*call, "--jobs", str(jobs), "--out", str(folder / str(jobs))], folder / "cache"
        )
        wall, cpu, _ = found[jobs]
        print(
            f"workers: {jobs}: {wall:.1f} s, CPU {cpu:.1f} s; {stages(folder / str(jobs))}",
            flush=True,
        )
    for jobs in counts[1:]:
        ratio = found[counts[0]][0] / found[jobs][0]
        print(f"workers: {jobs} are {ratio:.2f} times as fast as {counts[0]}")


def stages(run_folder: Path) -> str:
    """Return the stages' seconds, summed over all samples, and the sample that took longest."""
    rows = [json.loads(line) for line in (run_folder / "results.jsonl").read_text().splitlines()]
    sums: Counter[str] = Counter()
    for row in rows:
        sums.update(row["seconds"])
    slowest = max(rows, key=lambda row: sum(row["seconds"].values()))
    named = ", ".join(f"{name} {seconds:.0f}" for name, seconds in sums.items() if seconds >= 0.5)
    return f"sums {named}; slowest {slowest['sample']} {slowest['seconds']}"


def overhead(folder: Path, arguments: argparse.Namespace) -> None:
    """Tell the host program's CPU time from that of guests and compilers, on an otherwise idle machine."""
    tasks = device_and_tasks(arguments)
    call = command(arguments.folder, *tasks, "--no-repair", "-q")
    run([*call, "--out", str(folder / "first")], folder / "cache")  # prepares this machine
    shutil.rmtree(folder / "cache" / "builds", ignore_errors=True)
    tick, busy, host = os.sysconf("SC_CLK_TCK"), _busy(), 0
    begin = time.monotonic()
    process = subprocess.Popen(
        [*call, "--fresh", "--out", str(folder / "run")], env=environment(folder / "cache")
    )
    while process.poll() is None:
        stat = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
        host = max(host, int(stat[11]) + int(stat[12]))
        time.sleep(0.1)
    wall, all_of_it = time.monotonic() - begin, _busy() - busy
    print(
        f"overhead: {host / tick:.1f} s of CPU by the host of {all_of_it / tick:.1f} s by all "
        f"({100 * host / all_of_it:.1f} %), {wall:.1f} s"
    )


def _busy() -> int:
    """Return the clock ticks that the machine's cores have worked."""
    user, nice, system = Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:4]
    return int(user) + int(nice) + int(system)


def reward(folder: Path, arguments: argparse.Namespace) -> None:
    from grader.config import Options
    from grader.reward import Answer, Grader

    texts = list(itertools.islice(map(transcript, itertools.count(2)), arguments.answers))
    source = (
        "import torch\n\n\nclass Model(torch.nn.Module):\n    def forward(self, x):\n"
        "        return x * 3.0\n\n\ndef get_inputs():\n    return [torch.rand(64, 128)]\n\n\n"
        "def get_init_inputs():\n    return []\n"
    )
    with Grader(Options(device="sim", cache=folder / "cache"), seed=1) as grader:
        grader.grade(texts[0], source)
        for name in ("new", "known"):
            begin = time.monotonic()
            rewards = grader.grade_batch([Answer(text=t, task=source) for t in texts[1:]])
            rate = len(rewards) / (time.monotonic() - begin)
            print(f"reward: {rate:.2f} {name} answers a second with {grader.jobs} at once")


def main() -> None:
    kinds: dict[str, Callable[[Path, argparse.Namespace], None]] = {
        "stream": stream, "text": text, "kills": kills,
        "again": again, "workers": workers, "overhead": overhead,
        "reward": reward,
    }  # fmt: skip
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kind", choices=kinds)
    parser.add_argument("--lines", type=int, default=100_000)
    parser.add_argument("--samples", type=int, default=10_000)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--answers", type=int, default=20)
    parser.add_argument("--tasks", type=Path, help="a folder of problems, for the folder's samples")
    parser.add_argument("--jobs", help="how many workers, of each run")
    parser.add_argument("--labelled", type=int, help="that many labelled programs, for the folder")
    parser.add_argument("--folder", type=Path, default=ROOT / "samples")
    parser.add_argument("--device", default="sim", help="of again and workers")
    parser.add_argument("--scratch", type=Path, help="where the runs and their caches lie")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="kg-batch-", dir=arguments.scratch) as name:
        kinds[arguments.kind](Path(name), arguments)


if __name__ == "__main__":
    main()
