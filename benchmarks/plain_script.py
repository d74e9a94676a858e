"""One answer as a plain script runs it: KernelBench's way, nothing of the grader's, in a process of its own.

    python benchmarks/plain_script.py ANSWER PROBLEM [--seeds 42 43 44]

Seeds, constructs `Model`, seeds, constructs `ModelNew`, seeds, makes inputs, calls both on the GPU. The result is
held against the problem's own reference in float64 (in float32 where that does not fit). Prints one line of
JSON: `right`, `error` and `torch` (the largest |a - r| / (|r| + RMS of r) of the answer's and of torch's own
result, over all seeds), `exact` (whether float64 was had), `failure`, and `known` (false where there was no memory for it).

Untrusted code runs here with the user's own rights: only on a machine that is thrown away.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import math
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

LARGEST = 2.0**-12
"""The grader's own cap of a float32 tolerance."""
TORCHS = 32.0
"""Times that an answer may be as far off as torch's own result is."""


def main() -> int:
    """Run the answer under each seed; print what came of it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("answer", type=Path)
    parser.add_argument("problem", type=Path)
    parser.add_argument("--seeds", type=int, nargs="*", default=[42, 43, 44])
    options = parser.parse_args()
    said: dict[str, Any] = {
        "right": False,
        "error": 0.0,
        "torch": 0.0,
        "exact": True,
        "failure": "",
        "known": True,
    }
    try:
        for seed in options.seeds:
            _add(said, _of_seed(options.answer, options.problem, seed))
        said["right"] = said["error"] <= max(LARGEST, TORCHS * said["torch"])
    except BaseException as error:
        said["failure"] = f"{type(error).__name__}: {error}"[:500]
        said["known"] = type(error).__name__ != "OutOfMemoryError"  # others use this GPU as well
    sys.stdout.write(f"\n{json.dumps(said)}\n")
    return 0


def _add(said: dict[str, Any], found: tuple[float, float, bool]) -> None:
    error, torchs, exact = found
    said["error"], said["torch"] = max(said["error"], error), max(said["torch"], torchs)
    said["exact"] = said["exact"] and exact


def _of_seed(answer: Path, problem: Path, seed: int) -> tuple[float, float, bool]:
    """Return how far off the answer and torch itself are, and whether that is known beside float64."""
    import torch

    torch.backends.cudnn.allow_tf32 = (
        False  # as in the grader; what the answer switches on stays on
    )
    known, given = _module(problem, "problem"), _module(answer, "answer")
    init = known.get_init_inputs()
    reference, program = (
        _seeded(seed, lambda k=k: k(*init)).cuda() for k in (known.Model, given.ModelNew)
    )
    inputs = _seeded(seed, known.get_inputs)
    on_gpu = [x.cuda() if isinstance(x, torch.Tensor) else x for x in inputs]
    with torch.no_grad():
        native = _flat(reference(*on_gpu))
        exact, is_exact = _exactly(reference, on_gpu, native)
        made = _flat(program(*on_gpu))
        torch.cuda.synchronize()
        return _furthest(made, exact), _furthest(native, exact), is_exact


def _module(path: Path, name: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _seeded(seed: int, make: Callable[[], Any]) -> Any:
    import torch

    torch.manual_seed(seed)
    torch.cuda.manual_seed(seed)
    return make()


def _exactly(model: Any, inputs: Sequence[Any], native: list[Any]) -> tuple[list[Any], bool]:
    """Return the reference's result in float64, and True; its own where that can't be had."""
    import copy

    import torch

    try:
        wide = [x.double() if _is_real(x) else x for x in inputs]
        return _flat(copy.deepcopy(model).double()(*wide)), True
    except RuntimeError:  # no memory for it, or an operator that knows no float64
        torch.cuda.empty_cache()
        return native, False


def _is_real(value: Any) -> bool:
    import torch

    return isinstance(value, torch.Tensor) and value.is_floating_point()


def _flat(result: Any) -> list[Any]:
    return list(result) if isinstance(result, tuple | list) else [result]


def _furthest(made: list[Any], exact: list[Any]) -> float:
    """Return the largest error in units of |r| + RMS; infinity where the form differs."""
    if [tuple(x.shape) for x in made] != [tuple(x.shape) for x in exact]:
        return math.inf
    return max((_error(a, r) for a, r in zip(made, exact, strict=True)), default=0.0)


def _error(a: Any, r: Any) -> float:
    import torch

    a, r = a.double(), r.double()
    same = (a == r) | (a.isnan() & r.isnan()) | ((a - r).abs() < torch.finfo(torch.float32).tiny)
    unit = r.abs() + r[r.isfinite()].square().mean().sqrt()
    off = torch.where(same, torch.zeros_like(r), (a - r).abs() / unit)
    return float(off.nan_to_num(math.inf).max()) if off.numel() else 0.0


if __name__ == "__main__":
    sys.exit(main())
