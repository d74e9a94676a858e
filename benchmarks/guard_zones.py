"""What guard zones cost a judged run on a GPU, and whether right programs compute the same bits in them.

    python benchmarks/guard_zones.py [--times 5] [--seconds S] [--write FILE] [part of a name ...]

Runs the right programs of the labelled set (tests/corpus) on their deciding and general workloads, by turns with
torch's own allocator and between guard zones, each time in guests of their own, as a grading does. Prints the seconds
of a run (the median), their ratio, and the ratio of the sums; exits with 1 where outputs differ, where a zone was
found overwritten, where a run fell back, or where the sums' ratio is over 1.02. Timed calls have no zones: no time
that is reported changes. After `--seconds` no further program is begun; `--write` keeps the figures as JSON.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from grader import sandbox
from grader.config import Options
from grader.devices import RunResult
from grader.devices.cuda.device import CudaDevice, open_cuda
from grader.devices.cuda.gpu import installed_gpus
from grader.execution.reference import reference
from grader.records import Submission
from grader.store import Store
from grader.tasks import builtin_tasks
from tests.corpus import corpus

MOST = 1.02


@dataclass(frozen=True)
class Cost:
    """Medians of one program in seconds, and what went otherwise than it should."""

    plain: float
    guarded: float
    odd: tuple[str, ...]


def measure(guarded: CudaDevice, label: corpus.Labelled, times: int) -> Cost | None:
    """Run one program by turns without and with zones; None where it does not build."""
    plain = replace(guarded, prepared=replace(guarded.prepared, guard_zones=None))
    lines = label.code.count("\n") + 1
    submission = Submission(sample="s", code=label.code, line_map=(0,) * lines, how="benchmark")
    task = builtin_tasks()[label.task]
    known = reference(task, task.judged, 1, guarded.form, sandbox.Limits(wall=120))
    init = task.judged[0].init
    build = guarded.build(submission, init)
    if build.status != "built":
        return None
    took: dict[bool, list[float]] = {False: [], True: []}
    odd: set[str] = set()
    for turn in range(times + 1):
        pair = []
        for zones, device in ((False, plain), (True, guarded)):
            start = time.perf_counter()
            pair.append(device.run(submission, build, task, known))
            if turn:  # the first warms caches of files
                took[zones].append(time.perf_counter() - start)
        odd |= set(_odd(*pair))
    return Cost(statistics.median(took[False]), statistics.median(took[True]), tuple(sorted(odd)))


def _odd(plain: Sequence[RunResult], guarded: Sequence[RunResult]) -> list[str]:
    found = []
    for one, other in zip(plain, guarded, strict=True):
        name = one.run.workload
        if other.run.unguarded:
            found.append(f"{name}: {other.run.unguarded}")
        found += [f"{name}: {item.text}" for item in other.run.evidence]
        values = [[output.array.tobytes() for output in run.outputs] for run in (one, other)]
        if values[0] != values[1]:
            found.append(f"{name}: other bits")
    return found


def main(times: int, parts: Sequence[str], seconds: float, write: Path | None) -> int:
    """Print a line a program; return the exit code."""
    until = time.monotonic() + seconds
    gpus = installed_gpus()
    if not gpus:
        print("no GPU")
        return 1
    with tempfile.TemporaryDirectory() as folder:
        options = Options(device="cuda", run_seconds=120)
        store = Store(Path(folder))
        device = open_cuda(options, sandbox.strongest(), store, gpus, print)
        print("guard zones:", device.facts["guard zones"])
        chosen = [o for o in corpus.originals() if not parts or any(p in o.name for p in parts)]
        costs = {
            label.name: measure(device, label, times) if time.monotonic() < until else None
            for label in chosen
        }
    print(f"{'program':32} {'plain s':>8} {'zones s':>8} {'ratio':>6}")
    known = {name: cost for name, cost in costs.items() if cost}
    for name, cost in known.items():
        print(f"{name:32} {cost.plain:8.3f} {cost.guarded:8.3f} {cost.guarded / cost.plain:6.3f}")
        for text in cost.odd:
            print("   ", text)
    ratio = sum(c.guarded for c in known.values()) / sum(c.plain for c in known.values())
    if write:
        kept = {"ratio": ratio, "programs": {name: asdict(cost) for name, cost in known.items()}}
        write.write_text(json.dumps(kept, indent=1), "utf-8")
    print(f"{len(known)} of {len(chosen)} programs; all together {ratio:.4f}")
    return int(ratio > MOST or any(cost.odd for cost in known.values()))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("parts", nargs="*", metavar="NAME")
    parser.add_argument("--seconds", type=float, default=math.inf)
    parser.add_argument("--write", type=Path)
    asked = parser.parse_args()
    sys.exit(main(asked.times, asked.parts, asked.seconds, asked.write))
