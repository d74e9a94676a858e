"""How much faster is the fast build? Prints the ratio of each program, the median and the worst.

    python benchmarks/build_speed.py [--only GLOB] [--samples FOLDER] [--device sim|cuda] [--fast-only]

Each ratio is of two builds in one run on one machine, one compiler at a time (`jobs=1`), our
prepared files there and the program new. For `sim` stock is torch's own compilers as well: what a
user without this tool would wait for.
"""

from __future__ import annotations

import argparse
import fnmatch
import statistics
import tempfile
from pathlib import Path

from build_agreement import guest_options, submissions

from grader import build as building
from grader.build.prepare import Prepared, prepare
from grader.records import Build, Submission
from grader.sandbox import Limits, strongest


def built(submission: Submission, device: str, mode: str, prepared: Prepared) -> Build:
    """Build a program anew with one compiler at a time."""
    with tempfile.TemporaryDirectory() as folder:
        return building.build(
            submission,
            device=device,
            mode=mode,
            form=strongest(),
            limits=Limits(wall=1800, cpu=3600, memory=16 << 30),
            prepared=prepared,
            artifact_dir=Path(folder),
            init=(),
            options=guest_options(prepared) if device == "sim" else {},
            jobs=1,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="*")
    parser.add_argument("--samples")
    parser.add_argument("--device", default="sim", choices=["sim", "cuda"])
    parser.add_argument("--fast-only", action="store_true", help="seconds alone, and no ratio")
    arguments = parser.parse_args()
    prepared = prepare(building.discover(), print)
    found: dict[str, list[float]] = {}
    ratios: list[float] = []
    for case in submissions([arguments.samples] if arguments.samples else []):
        if not fnmatch.fnmatch(case.name, arguments.only):
            continue
        fast = built(case.submission, arguments.device, "fast", prepared)
        way = " by the stock compilers" if building.stock_way(fast) else ""
        found.setdefault(fast.status + way, []).append(fast.seconds)
        line = f"{case.name}: {fast.status}{way} {fast.seconds:.2f} s"
        if not arguments.fast_only and fast.status == "built":
            stock = built(case.submission, arguments.device, "stock", prepared)
            ratios.append(stock.seconds / fast.seconds)
            line += f", stock {stock.status} {stock.seconds:.2f} s, ratio {ratios[-1]:.1f}"
        print(line, flush=True)
    for how, taken in found.items():
        print(
            f"{how}: {len(taken)}, median {statistics.median(taken):.2f} s, worst {max(taken):.2f}"
        )
    if ratios:
        print(f"ratios: median {statistics.median(ratios):.1f}, worst {min(ratios):.1f}")


if __name__ == "__main__":
    main()
