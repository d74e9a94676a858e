"""Runs programs against references on a GPU; made whole by `triton_truth.py bundle`. Needs torch and Triton only."""

from __future__ import annotations

import base64
import json
import multiprocessing
import os
import sys
import tempfile
import time
import traceback
import types
import zlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

HELD = ""
INPUTS = ""
SECONDS = 180
BOUND = 1e-4


def unpacked(text: str) -> bytes:
    """Return what was packed into a string of this file."""
    return zlib.decompress(base64.b85decode(text))


def makers() -> dict[str, Any]:
    """Return the functions that make inputs, without the package that they come from."""
    source = unpacked(INPUTS).decode()
    for line in ("from grader.errors import GraderError", "from grader.records import"):
        start = source.index(line)
        source = source[:start] + source[source.index("\n", start) + 1 :]
    space: dict[str, Any] = {"GraderError": RuntimeError, "TensorSpec": object}
    source = "from __future__ import annotations\n" + source.replace(
        "from __future__ import annotations", ""
    )
    exec(compile(source, "inputs.py", "exec"), space)
    return space


def arguments(task: str, workload: dict[str, Any], make: dict[str, Any], seed: int) -> list[Any]:
    """Return the arguments of `forward` as numpy arrays and numbers."""
    return [
        make["make_array"](
            types.SimpleNamespace(**{**item, "shape": tuple(item["shape"])}),
            make["generator"](seed, task, workload["name"], index),
        )
        if isinstance(item, dict)
        else item
        for index, item in enumerate(workload["inputs"])
    ]


def compared(got: Any, wanted: Any, native: Any) -> dict[str, Any]:
    """Return whether a result equals the reference in float64."""
    import torch

    if not isinstance(got, torch.Tensor):
        return {"equal": False, "why": f"returned {type(got).__name__}"}
    if got.dtype != native.dtype:
        return {"equal": False, "why": f"dtype {got.dtype}, not {native.dtype}"}
    if got.shape != native.shape:
        return {"equal": False, "why": f"shape {tuple(got.shape)}, not {tuple(native.shape)}"}
    a, r = got.cpu().double(), wanted.cpu().double()
    if not bool(torch.isfinite(r).all()):
        return {"equal": True, "why": "the reference isn't finite"}
    scale = r.square().mean().sqrt() if r.numel() > 1 else r.abs()
    off = (a - r).abs() / (scale + r.abs() + 1e-30)
    off = torch.nan_to_num(off, nan=float("inf"))
    wrong = int((off > BOUND).sum())
    return {
        "equal": wrong == 0,
        "wrong": wrong,
        "of": r.numel(),
        "off": float(off.max()) if r.numel() else 0.0,
    }


def run(name: str, code: str, task: str, held: dict[str, Any], device: str, send: Any) -> None:
    """Run one program on all workloads of its task, in this process."""
    import torch

    torch.set_num_threads(1)
    os.chdir(tempfile.mkdtemp())
    path = Path("answer.py")
    path.write_text(code, "utf-8")
    said: list[dict[str, Any]] = []
    try:
        make = makers()
        space: dict[str, Any] = {"__name__": "answer", "__file__": str(path)}
        sys.path.insert(0, ".")
        import answer  # type: ignore[import-not-found]

        space = vars(answer)
        reference: dict[str, Any] = {}
        exec(held["reference"], reference)
        for workload in held["workloads"]:
            send.send(("at", workload["name"]))
            init = [tuple(v) if isinstance(v, list) else v for v in workload["init"]]
            torch.manual_seed(7)
            model = reference["Model"](*init)
            if workload["weights"] == "drawn":
                state = {k: v.numpy() for k, v in model.state_dict().items()}
                drawn = make["draw_state"](state, 7)
                model.load_state_dict({k: torch.from_numpy(v) for k, v in drawn.items()})
            torch.manual_seed(7)
            ours = space["ModelNew"](*init)
            ours.load_state_dict(model.state_dict(), strict=False)
            values = [
                torch.from_numpy(v.copy()) if hasattr(v, "dtype") else v
                for v in arguments(task, workload, make, 7)
            ]
            with torch.no_grad():
                native = model(*values)
                exact = model.double()(
                    *[
                        v.double() if isinstance(v, torch.Tensor) and v.is_floating_point() else v
                        for v in values
                    ]
                )
                got = ours.to(device)(
                    *[v.to(device) if isinstance(v, torch.Tensor) else v for v in values]
                )
            if device == "cuda":
                torch.cuda.synchronize()
            said.append(
                {"name": workload["name"], "role": workload["role"], **compared(got, exact, native)}
            )
        send.send(("done", said))
    except BaseException as error:
        last = traceback.format_exc().strip().splitlines()
        send.send(("failed", [said, f"{type(error).__name__}: {error}"[:600], last[-4:]]))


def judged(name: str, held: dict[str, Any], device: str) -> dict[str, Any]:
    """Return what one program did, in a process of its own."""
    program = held["programs"][name]
    context = multiprocessing.get_context("fork")
    receive, send = context.Pipe(False)
    task = program["task"]
    child = context.Process(
        target=run, args=(name, program["code"], task, held["tasks"][task], device, send)
    )
    start = time.monotonic()
    child.start()
    send.close()
    kind, value, at = "died", None, ""
    try:
        while time.monotonic() - start < SECONDS:
            if not receive.poll(1):
                continue
            kind_now, value_now = receive.recv()
            if kind_now == "at":
                at = value_now
                continue
            kind, value = kind_now, value_now
            break
        else:
            kind = "timeout"
    except EOFError:
        pass
    child.kill()
    child.join()
    row: dict[str, Any] = {"task": task, "end": kind, "seconds": round(time.monotonic() - start, 1)}
    if kind == "done":
        row["workloads"] = value
        nominal = [w for w in value if w["role"] in ("nominal", "stress")]
        row["nominal_right"] = all(w["equal"] for w in nominal)
        row["all_right"] = all(w["equal"] for w in value)
    elif kind == "failed":
        row["workloads"], row["error"], row["trace"] = value
        row["at"] = at
    else:
        row["at"] = at
    return row


def main() -> None:
    """Run all programs, several at a time, and write what was seen."""
    device = "cpu" if "--cpu" in sys.argv else "cuda"
    jobs = int(sys.argv[sys.argv.index("--jobs") + 1]) if "--jobs" in sys.argv else 12
    parts = [a for a in sys.argv[2:] if not a.startswith("--") and not a.isdigit()]
    import torch
    import triton

    held = json.loads(unpacked(HELD))
    names = [n for n in held["programs"] if not parts or any(p in n for p in parts)]
    names = [n for n in names if "--right" not in sys.argv or "--" not in n]
    with ThreadPoolExecutor(jobs) as pool:
        rows = dict(zip(names, pool.map(lambda n: judged(n, held, device), names), strict=True))
    import subprocess

    card = (
        subprocess.run(
            ["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"],
            capture_output=True,
            text=True,
            check=False,
        ).stdout
        if device == "cuda"
        else "interpreter"
    )
    machine = {
        "gpu": card.strip(),
        "torch": torch.__version__,
        "triton": triton.__version__,
        "bound": BOUND,
    }
    Path(sys.argv[1]).write_text(
        json.dumps({"machine": machine, "programs": rows}, indent=1) + "\n", "utf-8"
    )
    for name, row in rows.items():
        print(
            name,
            row["end"],
            row.get("nominal_right", ""),
            row.get("all_right", ""),
            row.get("error", "")[:100],
        )


if __name__ == "__main__":
    main()
