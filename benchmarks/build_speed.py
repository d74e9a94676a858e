"""How much faster is the fast build? Prints the ratio of each program, the median and the worst.

    python benchmarks/build_speed.py [--only GLOB] [--samples FOLDER] [--device sim|cuda]

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
from grader.records import Submission
from grader.sandbox import Limits, strongest


def seconds(submission: Submission, device: str, mode: str, prepared: Prepared) -> float | None:
    """Return the wall time of a new build with one compiler at a time; None if it failed."""
    with tempfile.TemporaryDirectory() as folder:
        made = building.build(
            submission,
            device=device,
            mode=mode,
            form=strongest(),
            limits=Limits(wall=1800, cpu=3600, memory=16 << 30),
            prepared=prepared,
            artifact_dir=Path(folder),
            options=guest_options(prepared) if device == "sim" else {},
            jobs=1,
        )
    return made.seconds if made.status == "built" else None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="*")
    parser.add_argument("--samples")
    parser.add_argument("--device", default="sim", choices=["sim", "cuda"])
    arguments = parser.parse_args()
    prepared = prepare(building.discover(), print)
    ratios: list[float] = []
    for name, submission in submissions(arguments.samples):
        if not fnmatch.fnmatch(name, arguments.only):
            continue
        fast = seconds(submission, arguments.device, "fast", prepared)
        if fast is None:
            continue
        stock = seconds(submission, arguments.device, "stock", prepared)
        if stock is None:
            print(f"{name}: stock does not build, fast does")
            continue
        ratios.append(stock / fast)
        print(f"{name}: fast {fast:.2f} s, stock {stock:.2f} s, ratio {ratios[-1]:.1f}", flush=True)
    if ratios:
        print(
            f"{len(ratios)} programs: median {statistics.median(ratios):.1f}, "
            f"worst {min(ratios):.1f}"
        )


if __name__ == "__main__":
    main()
