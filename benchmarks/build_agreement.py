# ruff: noqa: E402 - the path comes before the imports
"""Do fast and stock builds agree? Prints a line a program and exits 1 on any difference.

    python benchmarks/build_agreement.py [--only GLOB,GLOB,...] [--samples PATH ...] [--tasks FOLDER] [--device sim|cuda]
                                         [--jobs 1] [--no-programs]

Builds the programs of tests/build/programs.py and every sample of the paths twice, by our drivers and by
torch's plain compilers, and runs what builds on its task's inputs: the outputs must have the same bytes. A
stock build takes over a minute of a core, so the whole set takes hours of one; `--jobs` builds as many programs
side by side. The last line has the ratios of the wall times: median, and the worst.
"""

from __future__ import annotations

import argparse
import fnmatch
import statistics
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from grader import pipeline, tasks
from grader.build.prepare import Prepared
from grader.config import Options
from grader.devices.base import Device
from grader.execution import describe, reference
from grader.ingest import extract, read_samples
from grader.judge import References
from grader.pipeline import GradingContext
from grader.pipeline import prepare as stage
from grader.records import Build, Extraction, JsonValue, Sample, Submission, Task
from grader.simulator.gpus import gpu
from grader.store import Store
from tests.build.programs import BUILT, FAILED

SEED = 20260101
_PLAIN_TASK = (
    "import torch\n\n\nclass Model(torch.nn.Module):\n    def forward(self, x):\n        return x * 2.0\n\n\n"
    "def get_inputs():\n    return [torch.rand(64, 128)]\n\n\ndef get_init_inputs():\n    return []\n"
)
"""What the written programs are run on."""


@dataclass(frozen=True)
class Case:
    """A program, and where it comes from."""

    name: str
    submission: Submission
    sample: Sample | None = None
    extraction: Extraction | None = None


@dataclass(frozen=True)
class Row:
    """What the two builds of one program said."""

    name: str
    fast: Build
    stock: Build
    outputs: str
    """`same`, how they differ, or why there are none."""

    @property
    def agree(self) -> bool:
        """Whether verdicts and outputs are the same."""
        return self.fast.status == self.stock.status and "differ" not in self.outputs

    def __str__(self) -> str:
        said = (
            f"{'same' if self.agree else 'DIFFER'} {self.name}: fast {self.fast.status} {self.fast.seconds:.1f} s, "
            f"stock {self.stock.status} {self.stock.seconds:.1f} s, ratio "
            f"{self.stock.seconds / self.fast.seconds:.1f}, outputs: {self.outputs}"
        )
        if first_error(self.fast) != first_error(self.stock):
            said += f"\n  first error, fast:  {first_error(self.fast)}"
            said += f"\n  first error, stock: {first_error(self.stock)}"
        return said


def submissions(paths: list[str], *, programs: bool = True) -> Iterator[Case]:
    """Yield what is built."""
    for name, program in {**BUILT, **FAILED}.items() if programs else ():
        yield Case(name, Submission(sample=name, code=program.code, line_map=(), how="written"))
    for sample in read_samples(paths) if paths else ():
        extraction = extract(sample)
        if extraction.submission is not None:
            yield Case(sample.id, extraction.submission, sample, extraction)


def guest_options(prepared: Prepared) -> dict[str, JsonValue]:
    """Return what a guest needs for the simulator."""
    return {
        "library": str(prepared.library),
        "torch_library": str(prepared.torch_library),
        "gpu": gpu("h100").fields(),
        "cuda_version": ".".join(prepared.toolchain.nvcc_version.split(".")[:2]),
        "simulator": {},
    }


def first_error(build: Build) -> str:
    """Return the first error in its tool's words."""
    return build.errors[0].said if build.errors else ""


def compared(case: Case, fast: GradingContext, stock: GradingContext) -> Row:
    """Build a program both ways and run it, on a machine whose store is empty."""
    task = task_of(case, fast)
    init = task.workloads[0].init if task and task.workloads else None
    builds = [device_of(shop).build(case.submission, init) for shop in (fast, stock)]
    if any(build.status != "built" for build in builds) or task is None or not task.workloads:
        return Row(case.name, builds[0], builds[1], "none")
    asked = reference(task, task.judged, SEED, fast.form, fast.limits)
    outputs = [
        results(device_of(shop), case.submission, build, task, asked)
        for shop, build in zip((fast, stock), builds, strict=True)
    ]
    same = outputs[0] == outputs[1]
    said = f"same on {len(outputs[0])} workloads" if same else "differ"
    return Row(case.name, builds[0], builds[1], said)


def task_of(case: Case, shop: GradingContext) -> Task | None:
    """Return the sample's own task, or the one that the written programs have."""
    if case.sample is not None and case.extraction is not None:
        return stage.choose_task(shop, stage.Prepared(case.sample, case.extraction)).task
    plain = tasks.from_reference(_PLAIN_TASK)
    return describe(plain, shop.form, shop.limits) if plain else None


def device_of(shop: GradingContext) -> Device:
    """Return the device, which a benchmark can't do without."""
    assert shop.device is not None, shop.no_device
    return shop.device


def results(
    device: Device, submission: Submission, build: Build, task: Task, asked: References
) -> list[tuple[str, bytes]]:
    """Return how each run ended, and the bytes of its outputs."""
    runs = device.run(submission, build, task, asked)
    return [
        (one.run.status, b"".join(output.array.tobytes() for output in one.outputs)) for one in runs
    ]


def grading(
    chosen: argparse.Namespace, mode: Literal["fast", "stock"], home: Path
) -> GradingContext:
    """Return everything for builds of one mode, none of which is known yet."""
    options = Options(
        device=chosen.device,
        build=mode,
        tasks=chosen.tasks,
        build_seconds=1800.0,
        run_seconds=120.0,
    )
    return pipeline.open_context(options, Store(home / mode), SEED, print)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="*")
    parser.add_argument("--samples", nargs="*", default=[])
    parser.add_argument("--tasks", type=Path, help="a folder of problems")
    parser.add_argument("--device", default="sim", choices=["sim", "cuda"])
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--no-programs", action="store_true")
    chosen = parser.parse_args()
    globs = chosen.only.split(",")
    cases = [
        case
        for case in submissions(chosen.samples, programs=not chosen.no_programs)
        if any(fnmatch.fnmatch(case.name, glob) for glob in globs)
    ]
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(chosen.jobs) as pool:
        shops = [grading(chosen, mode, Path(folder)) for mode in ("fast", "stock")]
        for row in pool.map(lambda case: compared(case, *shops), cases):
            rows.append(row)
            print(row, flush=True)
    return summary(rows)


def summary(rows: list[Row]) -> int:
    """Print the last line; return the exit status."""
    ratios = [row.stock.seconds / row.fast.seconds for row in rows]
    spread = (
        f"median {statistics.median(ratios):.1f}, worst {min(ratios):.1f}" if ratios else "none"
    )
    differ = sum(not row.agree for row in rows)
    ran = sum(row.outputs.startswith("same") for row in rows)
    print(f"{len(rows)} programs, {ran} run, {differ} differ; ratios: {spread}")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
