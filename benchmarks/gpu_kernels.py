"""What a real GPU and compute-sanitizer say of the simulator's small kernels.

    python3 benchmarks/gpu_kernels.py --out FOLDER [--budget SECONDS] [--only NAME] [--dry-run]

Compiles every file of `tests/simulator/kernels`, launches each kernel on its inputs (twenty times, to see
whether a race shows), then again under each tool of compute-sanitizer. Needs nvcc, a GPU and numpy; nothing
of this package. FOLDER gets one file, `gpu_kernels.zip`: `results.json` (verdicts and reports), `outputs.npz`
(memory after the first launch) and `logs.json` (what each tool printed, whole). It is written again every
few seconds, so that a run that is cut short leaves what it has seen.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.simulator.core.cases import FOLDER, Case, all_cases  # noqa: E402

TOOLS = ("memcheck", "racecheck", "synccheck", "initcheck")
LOG_CHARACTERS = 30_000
HANG_SECONDS = 5
TOOL_SECONDS = 20


def tool(name: str) -> str:
    """Where a program of the toolkit is, or its bare name."""
    folders = ("/usr/local/cuda/bin", "/usr/local/nvidia/bin", "/usr/bin")
    places = (
        [found] if (found := shutil.which(name)) else [f"{folder}/{name}" for folder in folders]
    )
    return next((place for place in places if Path(place).exists()), name)


def said(*command: str) -> str:
    """What a command prints, or why it can't be run."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.SubprocessError) as error:
        return f"not run: {error}"
    return (done.stdout + done.stderr).strip()


def confined(command: list[str], seconds: float) -> tuple[str, str, float]:
    """Run a command in a session of its own; what it printed, how it ended, and for how long it ran."""
    start = time.monotonic()
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True
    ) as process:
        try:
            output, _ = process.communicate(timeout=seconds)
            end = f"exit {process.returncode}"
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            end = "killed"
            try:
                output, _ = process.communicate(timeout=10)
            except subprocess.TimeoutExpired:
                output = b""
    return output.decode(errors="replace"), end, round(time.monotonic() - start, 2)


class Laboratory:
    """Compiled kernels, the program that runs them, and what has been seen so far."""

    def __init__(self, out: Path, budget: float) -> None:
        self.out, self.end = out, time.monotonic() + budget
        self.work = Path(tempfile.mkdtemp(prefix="gpu_kernels"))
        self.runner = self.work / "runner"
        self.results: dict[str, Any] = {"cases": {}}
        self.logs: dict[str, str] = {}
        self.outputs: dict[str, np.ndarray] = {}
        self.lock = threading.Lock()
        self.written = 0.0

    def left(self) -> float:
        return self.end - time.monotonic()

    def build(self, workers: int) -> None:
        """Compile the runner and every file, each on a core."""
        nvcc = tool("nvcc")
        flags = [nvcc, "-lineinfo", "-arch=sm_90", "-std=c++17"]
        source = Path(__file__).with_suffix(".cu")
        jobs = [[*flags, str(source), "-o", str(self.runner)]] + [
            [*flags, "-cubin", str(file), "-o", str(self.cubin(file))]
            for file in sorted(FOLDER.glob("*.cu"))
        ]
        with ThreadPoolExecutor(workers) as pool:
            for command, (text, end, took) in zip(
                jobs, pool.map(lambda job: confined(job, 120), jobs), strict=True
            ):
                print(f"compiled {Path(command[-3]).name} in {took} s: {end}", flush=True)
                if end != "exit 0":
                    self.logs[f"compile {command[-3]}"] = text
                    print(text[:2000], flush=True)

    def cubin(self, file: Path) -> Path:
        return self.work / f"{file.stem}.cubin"

    def command(self, case: Case, repeat: int, written: bool) -> list[str]:
        """The runner's command for a case; `written`: memory that nobody wrote is filled with 0xFF."""
        folder = Path(tempfile.mkdtemp(prefix=case.name, dir=self.work))
        pad = lambda key: " ".join(map(str, (*case.extent(key), 1, 1)[:3]))  # noqa: E731
        lines = [
            f"kernel {case.kernel}", f"grid {pad('grid')}", f"block {pad('block')}", f"shared {case.shared}",
            f"optin {case.options.get('optin', 0)}", f"cooperative {case.options.get('cooperative', 0)}",
            f"repeat {repeat}", f"seconds {HANG_SECONDS if written else TOOL_SECONDS}",
        ]  # fmt: skip
        for index, (word, value) in enumerate(zip(case.arguments, case.make(), strict=True)):
            if not isinstance(value, np.ndarray):
                data = (
                    value if isinstance(value, bytes) else value.to_bytes(8, "little", signed=True)
                )
                lines.append(f"value {data.hex()}")
            elif word.startswith("out"):
                lines.append(f"empty {value.nbytes} {255 if written else -1}")
            else:
                path = folder / f"in{index}"
                path.write_bytes(value.tobytes())
                lines.append(f"file {path} {value.nbytes}")
        (folder / "list").write_text("\n".join(lines) + "\n")
        return [str(self.runner), str(self.cubin(case.file)), str(folder / "list"), str(folder)]

    def run(self, case: Case) -> dict[str, Any]:
        """The kernel alone: launch and synchronise, how many of nineteen further launches differ, the check."""
        command = self.command(case, 20, written=True)
        text, end, took = confined(command, min(45, self.left()))
        words = dict(line.partition(" ")[::2] for line in text.splitlines() if " " in line)
        entry: dict[str, Any] = {"end": end, "seconds": took, **words}
        if end not in ("exit 0", "exit 3"):
            entry["text"] = text[:2000]
        arrays = [value for value in case.make() if isinstance(value, np.ndarray)]
        entry["inputs"] = hashlib.sha256(b"".join(a.tobytes() for a in arrays)).hexdigest()[:16]
        folder = Path(command[-1])
        if all((folder / str(k)).exists() for k in range(len(arrays))):
            seen = [np.fromfile(folder / str(k), a.dtype) for k, a in enumerate(arrays)]
            entry["check"] = case.failed_check(seen) or "holds"
            entry["outputs"] = [hashlib.sha256(a.tobytes()).hexdigest()[:16] for a in seen]
            entry["values"] = [repr(a[:4].tolist()) for a in seen]
            with self.lock:
                self.outputs.update({f"{case.name}/{k}": a for k, a in enumerate(seen)})
        return entry

    def examine(self, case: Case, name: str, extra: list[str]) -> dict[str, Any]:
        """The kernel once under one tool of compute-sanitizer."""
        command = [tool("compute-sanitizer"), "--tool", name, "--print-limit", "20", *extra]
        command += self.command(case, 1, written=False)
        text, end, took = confined(command, min(TOOL_SECONDS, self.left()))
        with self.lock:
            self.logs[f"{case.name} {name}"] = text.replace(str(ROOT), "ROOT")[:LOG_CHARACTERS]
        return {"end": end, "seconds": took, "reports": reports(text)[:20]}

    def note(self, case: Case, key: str, entry: dict[str, Any]) -> None:
        with self.lock:
            found = self.results["cases"].setdefault(case.name, {"file": case.file.name})
            found[key] = entry
            if time.monotonic() - self.written > 5:
                self.write()

    def write(self) -> None:
        """Everything so far, in a file that is replaced in one step."""
        self.out.mkdir(parents=True, exist_ok=True)
        arrays = io.BytesIO()
        np.savez_compressed(arrays, **self.outputs)
        partial = self.out / "gpu_kernels.part"
        with zipfile.ZipFile(partial, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("results.json", json.dumps(self.results, indent=1))
            archive.writestr("logs.json", json.dumps(self.logs, indent=1))
            archive.writestr("outputs.npz", arrays.getvalue())
        partial.replace(self.out / "gpu_kernels.zip")
        self.written = time.monotonic()


def reports(text: str) -> list[dict[str, Any]]:
    """A first reading of a tool's text: headline, place, thread and block of each report."""
    found: list[dict[str, Any]] = []
    for line in text.splitlines():
        body = line.removeprefix("=========")
        if body == line:
            continue
        if body.startswith(" ") and not body.startswith("  ") and body.strip():
            found.append({"headline": body.strip(), "text": line})
        elif found:
            last = found[-1]
            last["text"] = (last["text"] + "\n" + line)[:1500]
            if place := re.search(r" in (\S+\.cuh?):(\d+)", line):
                last.setdefault("line", int(place[2]))
                last.setdefault("file", Path(place[1]).name)
            if who := re.search(
                r"thread \((\d+),(\d+),(\d+)\) in block \((\d+),(\d+),(\d+)\)", line
            ):
                last.setdefault("thread", [int(who[k]) for k in (1, 2, 3)])
                last.setdefault("block", [int(who[k]) for k in (4, 5, 6)])
    ignored = ("COMPUTE-SANITIZER", "ERROR SUMMARY", "RACECHECK SUMMARY")
    return [report for report in found if not report["headline"].startswith(ignored)]


def machine() -> dict[str, str]:
    query = "--query-gpu=name,driver_version,memory.total"
    return {
        "gpu": said(tool("nvidia-smi"), query, "--format=csv,noheader"),
        "nvcc": said(tool("nvcc"), "--version"),
        "sanitizer": said(tool("compute-sanitizer"), "--version"),
        "sanitizer_help": said(tool("compute-sanitizer"), "--help"),
        "python": sys.version,
        "numpy": np.__version__,
    }


def options_of(name: str, help_text: str) -> list[str]:
    """Options that make a tool say most, where this version has them."""
    wanted = {
        "racecheck": [("--racecheck-report", "all")],
        "initcheck": [("--initcheck-address-space", "all")],
    }
    return [word for pair in wanted.get(name, []) if pair[0] in help_text for word in pair]


def in_parallel(workers: int, laboratory: Laboratory, jobs: list[tuple[Case, str, Any]]) -> None:
    """Do jobs (case, key, function) while time is left; a job's own failure is its entry."""

    def one(job: tuple[Case, str, Any]) -> None:
        case, key, function = job
        if laboratory.left() < 3:
            laboratory.note(case, key, {"end": "no time left"})
            return
        try:
            laboratory.note(case, key, function(case))
        except Exception as error:  # the others go on
            laboratory.note(case, key, {"end": f"failed: {error!r}"})

    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(one, jobs))
    laboratory.write()


def hung(laboratory: Laboratory, case: Case) -> bool:
    return "hang" in laboratory.results["cases"][case.name].get("run", {})


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--budget", type=float, default=180.0)
    parser.add_argument("--workers", type=int, default=max(2, (os.cpu_count() or 4) - 2))
    parser.add_argument("--only", default="")
    parser.add_argument("--dry-run", action="store_true", help="compile and list, run nothing")
    given = parser.parse_args()
    laboratory = Laboratory(given.out, given.budget)
    laboratory.results["machine"] = seen = machine()
    print({key: value for key, value in seen.items() if key != "sanitizer_help"}, flush=True)
    cases = [case for case in all_cases().values() if given.only in case.name]
    laboratory.build(given.workers)
    if given.dry_run:
        for case in cases:
            print(" ".join(laboratory.command(case, 20, written=True)))
            print(Path(laboratory.command(case, 1, written=False)[2]).read_text())
        laboratory.write()
        return
    in_parallel(min(8, given.workers), laboratory, [(c, "run", laboratory.run) for c in cases])
    print(f"ran {len(cases)} kernels, {laboratory.left():.0f} s left", flush=True)
    quick = [case for case in cases if not hung(laboratory, case)]
    slow = [case for case in cases if hung(laboratory, case)]
    jobs = []
    for name, chosen in [
        *((name, quick) for name in TOOLS),
        ("synccheck", slow),
        ("memcheck", slow),
    ]:
        extra = options_of(name, seen["sanitizer_help"])
        examine = lambda case, name=name, extra=extra: laboratory.examine(case, name, extra)  # noqa: E731
        jobs += [(case, name, examine) for case in chosen]
    in_parallel(given.workers, laboratory, jobs)
    for name, case in laboratory.results["cases"].items():
        seen_of_it = {
            k: case.get("run", {}).get(k) for k in ("launch", "sync", "hang", "check", "differ")
        }
        print(name, json.dumps({k: v for k, v in seen_of_it.items() if v is not None}), flush=True)
    print(f"{laboratory.left():.0f} s left; hung: {[case.name for case in slow]}", flush=True)
    shutil.rmtree(laboratory.work, ignore_errors=True)


if __name__ == "__main__":
    main()
