# ruff: noqa: E402 - the path comes before the imports
"""Do fast and stock builds agree? Prints a line a program and exits 1 on any difference.

    python benchmarks/build_agreement.py [--only GLOB,GLOB,...] [--samples FOLDER] [--device sim|cuda]

Runs the programs of tests/build/programs.py and every sample of a folder, each once by our drivers
and once by torch's plain compilers; a stock build takes over a minute, so the whole set takes
hours of one core. The last line has the ratios of the wall times: median, and the worst.
"""

from __future__ import annotations

import argparse
import fnmatch
import statistics
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from grader import build as building
from grader.build.prepare import Prepared, prepare
from grader.ingest import extract, read_samples
from grader.records import Build, JsonValue, Submission
from grader.sandbox import Limits, strongest
from grader.simulator.gpus import gpu
from tests.build.programs import BUILT, FAILED


def submissions(folder: str | None) -> Iterator[tuple[str, Submission]]:
    """Yield what is built, by name."""
    for name, program in {**BUILT, **FAILED}.items():
        yield name, Submission(sample=name, code=program.code, line_map=(), how="written")
    for sample in read_samples([folder]) if folder else ():
        submission = extract(sample).submission
        if submission is not None:
            yield sample.id, submission


def guest_options(prepared: Prepared) -> dict[str, JsonValue]:
    """Return what a guest needs for the simulator."""
    return {
        "library": str(prepared.library),
        "torch_library": str(prepared.torch_library),
        "gpu": gpu("h100").fields(),
        "cuda_version": ".".join(prepared.toolchain.nvcc_version.split(".")[:2]),
        "simulator": {},
    }


def built(submission: Submission, device: str, mode: str, prepared: Prepared) -> Build:
    """Build a submission anew."""
    with tempfile.TemporaryDirectory() as folder:
        return building.build(
            submission,
            device=device,
            mode=mode,
            form=strongest(),
            limits=Limits(wall=1800, cpu=3600, memory=16 << 30),
            prepared=prepared,
            artifact_dir=Path(folder),
            options=guest_options(prepared) if device == "sim" else {},
        )


def first_error(build: Build) -> str:
    """Return the first error in its tool's words."""
    return str(build.errors[0].data.get("message", build.errors[0].text)) if build.errors else ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="*")
    parser.add_argument("--samples")
    parser.add_argument("--device", default="sim", choices=["sim", "cuda"])
    arguments = parser.parse_args()
    prepared = prepare(building.discover(), print)
    differ = 0
    ratios: list[float] = []
    for name, submission in submissions(arguments.samples):
        if not any(fnmatch.fnmatch(name, glob) for glob in arguments.only.split(",")):
            continue
        fast = built(submission, arguments.device, "fast", prepared)
        stock = built(submission, arguments.device, "stock", prepared)
        same = fast.status == stock.status
        words = first_error(fast) == first_error(stock)
        differ += not same
        ratios.append(stock.seconds / fast.seconds)
        print(
            f"{'same' if same else 'DIFFER'} {name}: fast {fast.status} {fast.seconds:.1f} s, "
            f"stock {stock.status} {stock.seconds:.1f} s, ratio {ratios[-1]:.1f}",
            flush=True,
        )
        if not words:
            print(f"  first error, fast:  {first_error(fast)}")
            print(f"  first error, stock: {first_error(stock)}")
    spread = (
        f"median {statistics.median(ratios):.1f}, worst {min(ratios):.1f}" if ratios else "none"
    )
    print(f"{len(ratios)} programs, {differ} verdicts differ; ratios: {spread}")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
