"""Our reference-fixed kernels on a GPU: achieved bandwidth beside eager torch, torch.compile and a plain copy.

    python benchmarks/reference_kernels.py [--only GLOB[,GLOB]] [--types] [--sizes] [--jobs N] [--folder DIR] [--out FILE]

With `--types` each task that has no fast form is measured in its plain or composed one, and in half precision as well.

Needs an NVIDIA GPU and nvcc. Each task's `full` workloads are timed with CUDA events, medians of interleaved rounds. Before each
call 1 GB is written: no cache holds the inputs, and the call is in the GPU's queue by the time it begins, so that what
the host needs to launch it is not counted.

GB/s counts the bytes that must move, and "of copy" is that over what `copy_` reaches in the same run (read and write):

- inputs, parameters and buffers of the module once, outputs once;
- a second time what a result needs again after it has been reduced as a whole, and what all that the chip has can't hold meanwhile
  (registers, shared memory and L2): of a norm over a whole tensor of 7.5 GB all but 0.1 GB. `Task.parameters` can't tell
  how much is reduced together, so these tasks are named here: `TOGETHER`.

A window's overlap doesn't count: pooling reads its input once.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import fnmatch
import gc
import importlib.util
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from reference_sizes import with_more_sizes

from grader.build import discover, environment
from grader.build.prepare import make_headers, prepare
from grader.records import Task, TensorSpec, Workload
from grader.repair.compose import UncoveredError
from grader.repair.reference import compose_for_task, reference_code
from grader.sandbox import strongest
from grader.tasks import builtin_tasks
from grader.tasks.precision import forms, split_name

ROUNDS = 12
TOGETHER = {
    "frobenius-norm": lambda x: x.numel(),
    "batch-norm": lambda x: x.numel() // x.size(1),
}
"""Values that must all be read before the first result is known, where they may be more than the chip holds."""


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--only", default="*", help="globs of task names, separated by commas")
    parser.add_argument("--build", choices=("fast", "stock"), default="fast")
    parser.add_argument(
        "--folder", type=Path, help="where the extensions are built, or are built already"
    )
    parser.add_argument("--build-only", action="store_true")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--out", type=Path)
    parser.add_argument("--no-compile", action="store_true")
    parser.add_argument("--types", action="store_true", help="plain and composed kernels, halves")
    parser.add_argument("--sizes", action="store_true", help="more sizes and odd ones as well")
    options = parser.parse_args()
    if not torch.cuda.is_available():
        print("no GPU: nothing is measured")
        return 1
    chosen = {
        task.name: (task, code)
        for task in asked(options.only.split(","), types=options.types)
        if (code := kernel_of(task, types=options.types))
    }
    folder = options.folder or Path(tempfile.mkdtemp(prefix="kernels-"))
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("CC", "CXX"):
        os.environ.pop(name, None)  # as in a guest
    os.environ |= build_environment(options.build)
    prebuild({name: code for name, (_, code) in chosen.items()}, folder, options.jobs)
    if options.build_only:
        return 0
    copy = copy_bandwidth()
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}: copy {copy:.0f} GB/s")
    rows = []
    for name, (task, code) in chosen.items():
        full = [item for item in task.workloads if item.role == "full"]
        for workload in with_more_sizes(name, full) if options.sizes else full:
            row = measure(name, task, code, workload, folder, copy, not options.no_compile)
            rows.append(row)
            print(shown(row), flush=True)
            if options.out:
                facts = {
                    "gpu": torch.cuda.get_device_name(),
                    "torch": torch.__version__,
                    "copy": copy,
                }
                options.out.write_text(json.dumps({**facts, "rows": rows}, indent=1))
    return 0


def asked(globs: list[str], *, types: bool) -> Iterator[Task]:
    """Yield the tasks of these names, with their forms in half precision where those are asked for."""
    for name, task in builtin_tasks().items():
        if any(fnmatch.fnmatch(name, glob) for glob in globs):
            yield from forms(task) if types else (task,)


def kernel_of(task: Task, *, types: bool) -> str | None:
    """Return the task's fast kernel, or with `types` the plain one where there is none."""
    try:
        return reference_code(task, "fast") or compose_for_task(task, strongest()).code
    except UncoveredError as error:
        print(f"{task.name} is not composed: {error}", flush=True)
        return reference_code(task) if types else None


def build_environment(mode: str) -> dict[str, str]:
    """Return the variables that lead torch to our compiler drivers; none for its own."""
    if mode == "stock":
        return {}
    major, minor = torch.cuda.get_device_capability()
    prepared = prepare(discover())
    make_headers(prepared)
    return environment(prepared, "cuda", "fast", f"{major}.{minor}").variables


def prebuild(codes: dict[str, str], folder: Path, jobs: int) -> None:
    """Build all extensions at once in processes of their own, so that importing them later is quick."""

    def build(item: tuple[str, str]) -> str:
        name, code = item
        path = folder / f"{name.replace('-', '_')}.py"
        path.write_text(code)
        environment = os.environ | {
            "TORCH_EXTENSIONS_DIR": str(folder / f"build-{name}"),
            "MAX_JOBS": "2",
        }
        done = subprocess.run(
            [sys.executable, str(path)], env=environment, capture_output=True, text=True
        )
        return "" if done.returncode == 0 else f"{name}: {done.stderr[-1500:]}"

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for trouble in pool.map(build, codes.items()):
            if trouble:
                print("does not build:", trouble, flush=True)


def load(name: str, folder: Path) -> object:
    os.environ["TORCH_EXTENSIONS_DIR"] = str(folder / f"build-{name}")
    path = folder / f"{name.replace('-', '_')}.py"
    spec = importlib.util.spec_from_file_location(f"ours_{path.stem}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def reference_model(task: Task, init: tuple) -> torch.nn.Module:
    namespace: dict = {"__name__": "reference"}
    exec(compile(task.reference, task.name, "exec"), namespace)
    torch.manual_seed(1)
    return namespace["Model"](*init).cuda()


def tensor(value: object) -> object:
    if not isinstance(value, TensorSpec):
        return value
    dtype = getattr(torch, value.dtype)
    if value.dtype == "bool":
        return torch.rand(value.shape, device="cuda") > 0.5
    if value.distribution == "randint" or "int" in value.dtype:
        return torch.randint(
            int(value.low),
            max(int(value.low) + 1, int(value.high)),
            value.shape,
            device="cuda",
            dtype=dtype,
        )
    return (torch.rand(value.shape, device="cuda") + 0.01).to(dtype)


def measure(
    name: str, task: Task, code: str, workload: Workload, folder: Path, copy: float, compiled: bool
) -> dict:
    row = {"task": name, "workload": workload.name}
    try:
        init = tuple(tuple(item) if isinstance(item, list) else item for item in workload.init)
        inputs = [tensor(item) for item in workload.inputs]
        eager = reference_model(task, init)
        module = load(name, folder)
        torch.manual_seed(1)
        ours = module.ModelNew(*init).cuda()
        ours = ours.to(getattr(torch, task.precision)) if task.precision else ours
        with torch.no_grad():
            runs = {"ours": lambda: ours(*inputs), "eager": lambda: eager(*inputs)}
            expected, actual = eager(*inputs), ours(*inputs)
            expected, actual = several(expected), several(actual)
            row["error"] = max(map(relative_error, actual, expected))
            moved = must_move(name, (*inputs, *expected, *eager.parameters(), *eager.buffers()))
            del expected, actual
            if compiled:
                fast = torch.compile(reference_model(task, init))
                fast(*inputs)
                runs["compile"] = lambda: fast(*inputs)
            times = interleaved(runs)
        row |= {f"{what} ms": round(value, 4) for what, value in times.items()}
        row["GB/s"] = round(moved / times["ours"] / 1e6)
        row["of copy"] = round(moved / times["ours"] / 1e6 / copy, 3)
    except Exception as error:
        row["failed"] = f"{type(error).__name__}: {str(error)[:200]}"
    torch.cuda.empty_cache()
    gc.collect()
    torch._dynamo.reset()
    return row


def several(result: object) -> tuple[torch.Tensor, ...]:
    """Return the tensors of a result, whether one or several."""
    return tuple(result) if isinstance(result, tuple | list) else (result,)


def must_move(name: str, tensors: tuple) -> int:
    """Return the bytes that go through memory in the best case; the first tensor is the input that may be read twice."""
    given = [item for item in tensors if isinstance(item, torch.Tensor)]
    once = sum(item.numel() * item.element_size() for item in given)
    stem, _ = split_name(name) or (name, "")
    if stem not in TOGETHER:
        return once
    together = given[0].element_size() * TOGETHER[stem](given[0])
    again = max(0, together - on_chip()) / together
    return once + int(again * given[0].numel() * given[0].element_size())


def on_chip() -> int:
    """Return the bytes of all registers, shared memory and L2."""
    gpu = torch.cuda.get_device_properties(0)
    each = 4 * gpu.regs_per_multiprocessor + gpu.shared_memory_per_multiprocessor
    return gpu.multi_processor_count * each + gpu.L2_cache_size


def relative_error(actual: torch.Tensor, expected: torch.Tensor) -> float:
    if actual.shape != expected.shape:
        return float("inf")
    if expected.element_size() < 4 or not expected.is_floating_point():
        actual, expected = actual.float(), expected.float()
    scale = (
        expected.double().pow(2).mean().sqrt()
        if expected.numel() < 1 << 28
        else expected.abs().max().double()
    )
    worst = max(
        (
            (a - e).abs().max().item()
            for a, e in zip(
                actual.reshape(-1).split(1 << 27), expected.reshape(-1).split(1 << 27), strict=True
            )
        ),
        default=0.0,
    )
    return worst / max(float(scale), 1e-30)


def interleaved(runs: dict) -> dict[str, float]:
    """Return the median time of each, in milliseconds; the order is the same in every round."""
    for run in runs.values():
        run()
    flush = torch.empty(1 << 28, device="cuda")
    found: dict[str, list[float]] = {what: [] for what in runs}
    for _ in range(ROUNDS):
        for what, run in runs.items():
            begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            flush.zero_()
            begin.record()
            run()
            end.record()
            torch.cuda.synchronize()
            found[what].append(begin.elapsed_time(end))
    return {what: statistics.median(times) for what, times in found.items()}


def copy_bandwidth() -> float:
    """Return GB/s of a 4 GB device-to-device copy, read and write counted."""
    source = torch.rand(1 << 30, device="cuda")
    target = torch.empty_like(source)
    times = interleaved({"copy": lambda: target.copy_(source)})
    return 2 * source.numel() * 4 / times["copy"] / 1e6


def shown(row: dict) -> str:
    return "  ".join(f"{name} {value}" for name, value in row.items())


if __name__ == "__main__":
    sys.exit(main())
