"""What a real GPU says of the labelled set, kept as data; and the simulator held against it.

    python benchmarks/gpu_agreement.py record FILE [--jobs 12] [--every N] [part of a name ...]
    python benchmarks/gpu_agreement.py compare FILE [--jobs 2] [--every N] [part of a name ...]

`record` grades tests/corpus (correct kernels, and each with one defect seeded) on this machine's GPU
and writes verdicts, wrong shares, errors of CUDA's and what compute-sanitizer saw. `compare` grades the
same on the simulator, prints every disagreement and exits with 1 where there is one that the record
does not explain (`"explained": {name: why}`).
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.run_folder import Graded, block, grade, write
from tests.corpus import corpus


def graded(
    device: str,
    jobs: int,
    every: int,
    parts: list[str],
    out: Path | None,
    *,
    sanitize: bool = False,
) -> Graded:
    """Grade the labelled set on a device; without fixes, without time. `out` is gone on with."""
    labels = [*corpus.originals(), *corpus.mutants()[::every]]
    chosen = [one for one in labels if not parts or any(part in one.name for part in parts)]
    with tempfile.TemporaryDirectory() as folder:
        path = write(
            ((o.name, o.task, block(o.code)) for o in chosen), Path(folder) / "labelled.jsonl"
        )
        options = ("--device", device, "--jobs", str(jobs), "--no-repair", "--no-timing")
        options += ("--run-seconds", "20", "--sanitize" if sanitize else "--no-sanitize")
        return grade(path, out or Path(folder) / "out", *options)


def said(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is kept of a row: the verdict, what was wrong first, and what was seen."""
    wrong = {
        one["name"]: (one["mismatch"] or one["run"])[:100]
        for one in row["workloads"]
        if one["run"] != "ran" or one["equal"] is False
    }
    seen = {
        f"{kind['kind']}:{kind['code']}"
        for finding in row["findings"]
        for kind in finding["evidence"]
        if kind["kind"] in {"sanitizer", "python"}
    }
    return {"status": row["status"], "wrong": dict(list(wrong.items())[:1]), "seen": sorted(seen)}


def record(
    file: Path, jobs: int, every: int, parts: list[str], out: Path | None, *, sanitize: bool
) -> int:
    """Write what the GPU says."""
    run = graded("cuda", jobs, every, parts, out, sanitize=sanitize)
    kept = {
        "machine": run.environment,
        "command": run.command,
        "seconds": run.seconds,
        "explained": {},
        "programs": {name: said(row) for name, row in sorted(run.rows.items())},
    }
    file.write_text(json.dumps(kept, indent=1) + "\n", "utf-8")
    print(f"{len(run.rows)} programs in {run.seconds} s: {file}")
    return 0


def compare(file: Path, jobs: int, every: int, parts: list[str], out: Path | None) -> int:
    """Print where the simulator says something else than the record."""
    known = json.loads(file.read_text("utf-8"))
    run = graded("sim", jobs, every, parts, out)
    both = sorted(run.rows.keys() & known["programs"].keys())
    apart = [n for n in both if not _agree(run.rows[n], known["programs"][n])]
    for name in apart:
        here, there = run.rows[name], known["programs"][name]
        why = known["explained"].get(name, "NOT EXPLAINED")
        print(f"{name:44} GPU {there['status']:12} sim {here['status']:12} {why}")
    print(f"{len(both) - len(apart)} of {len(both)} verdicts agree; {run.seconds} s")
    return 1 if any(name not in known["explained"] for name in apart) else 0


def _agree(here: Mapping[str, Any], there: Mapping[str, Any]) -> bool:
    """Whether the simulator says what the GPU did, which sees no race where the values come out right."""
    blind = (here["status"], there["status"]) == ("unsound", "correct")
    return blind or here["status"] == there["status"]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["record", "compare"])
    parser.add_argument("file", type=Path)
    parser.add_argument("parts", nargs="*")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--every", type=int, default=1, help="only every Nth seeded defect")
    parser.add_argument("--out", type=Path, help="run folder to keep, and to go on with")
    parser.add_argument("--sanitize", action="store_true", help="record its reports, too: slow")
    given = parser.parse_args()
    chosen = (given.file, given.jobs, given.every, given.parts, given.out)
    if given.what == "record":
        raise SystemExit(record(*chosen, sanitize=given.sanitize))
    raise SystemExit(compare(*chosen))
