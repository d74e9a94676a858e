"""Keep what benchmarks/gpu_kernels.py brought back as the data that a test holds the simulator to.

    python benchmarks/gpu_kernels_keep.py gpu_kernels.zip tests/gpu/recorded

Writes `h200_kernels.json` (how each kernel ended; what each tool of compute-sanitizer reports, by line)
and `h200_outputs.npz` (the arrays after the first launch of each kernel that ended without an error and
gave the same twenty times).
"""

from __future__ import annotations

import argparse
import io
import json
import re
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

TOOLS = ("memcheck", "racecheck", "synccheck")


def ending(run: dict[str, Any]) -> str:
    """Return how the launches of a kernel ended, in a word."""
    if "hang" in run:
        return "hang"
    if run["launch"] != "cudaSuccess":
        return f"launch: {run['launch']}"
    return "ok" if run["sync"] == "cudaSuccess" else str(run["sync"])


def reports(case: dict[str, Any]) -> dict[str, list[list[Any]]]:
    """Return, for each tool that ran to its end, its headlines and their lines, once each."""
    found: dict[str, list[list[Any]]] = {}
    for tool in TOOLS:
        seen = case.get(tool, {"end": "no time left"})
        if seen["end"] != "no time left":
            pairs = {(_headline(one["headline"]), one.get("line") or 0) for one in seen["reports"]}
            found[tool] = [list(pair) for pair in sorted(pairs)]
    return found


def _headline(text: str) -> str:
    text = re.sub(r" at __(\w+)__ 0x\w+.*| in \S+ in .*", r" in \1 memory", text)
    return re.sub(r"\(\d+,\d+,\d+\)|0x\w+|\+0x\w+", "N", text)[:90]


def main(source: Path, folder: Path) -> int:
    """Write both files."""
    with zipfile.ZipFile(source) as kept:
        results = json.loads(kept.read("results.json"))
        outputs = np.load(io.BytesIO(kept.read("outputs.npz")))
    cases = results["cases"]
    words = {
        "machine": {k: str(v).splitlines()[-1] for k, v in results["machine"].items()},
        "source": "benchmarks/gpu_kernels.py; each kernel was launched twenty times",
        "meaning": "ok: all launches ended without an error; hang: not done after 5 s; launch: refused "
        "with that error; else the error after the launch. Reports: headline and line, by tool; a tool "
        "that is missing was not run",
        "kernels": {name: ending(case["run"]) for name, case in sorted(cases.items())},
        "reports": {name: reports(case) for name, case in sorted(cases.items())},
    }
    words["machine"].pop("sanitizer_help", None)
    (folder / "h200_kernels.json").write_text(json.dumps(words, indent=1) + "\n", "utf-8")
    steady = {
        key: outputs[key]
        for key in outputs.files
        if words["kernels"][key.split("/")[0]] == "ok"
        and cases[key.split("/")[0]]["run"].get("differ") == "0"
    }
    np.savez_compressed(folder / "h200_outputs.npz", **steady)  # type: ignore[arg-type]
    print(f"{len(cases)} kernels, {len(steady)} arrays")
    return 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("source", type=Path)
    parser.add_argument("folder", type=Path)
    given = parser.parse_args()
    raise SystemExit(main(given.source, given.folder))
