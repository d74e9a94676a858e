"""How often a review names the cause of a wrong result, at its line: `python benchmarks/causes/run.py --half 1`."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[2]))

from set import Wrong, right_programs, wrong_programs

from grader.config import Options
from grader.ingest import read_samples
from grader.pipeline import GradingContext, open_context
from grader.pipeline.review import review
from grader.report.findings import rank_findings
from grader.store import Store

NEAR = 2
"""Lines by which a finding may miss the cause."""


def main() -> None:
    """Grade a part of the set and print what share is explained, and fixed; of right programs, what is held against them."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--half", type=int, choices=range(1, 18), required=True)
    parser.add_argument("--only", default="", help="part of a name; several with commas")
    parser.add_argument("--repair", action="store_true")
    parser.add_argument("--right", action="store_true", help="the right programs of the part")
    parser.add_argument("--device", default="sim")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--every", type=int, default=1, help="take every Nth program")
    parser.add_argument("--start", type=int, default=0, help="begin with this one")
    parser.add_argument("--cache", type=Path, default=Path("/tmp/causes"))
    parser.add_argument("--keep", type=Path, help="where rows go, a JSON line each")
    asked = parser.parse_args()
    options = Options(device=asked.device, repair=asked.repair, seed=7)
    grading = open_context(options, Store(asked.cache), 7)
    every = right_programs() if asked.right else wrong_programs()
    of_half = (one for one in every if one.half == asked.half and _is_asked(one.name, asked.only))
    programs = sorted(of_half, key=lambda one: one.order)[asked.start :: asked.every]
    with ThreadPoolExecutor(asked.jobs) as pool:
        rows = []
        graded = [pool.submit(_graded, grading, one, asked.cache) for one in programs]
        for done in as_completed(graded):
            rows.append(row := done.result())
            print(json.dumps(row) if asked.keep is None else _short(row), flush=True)
            if asked.keep is not None:
                with asked.keep.open("a") as kept:
                    kept.write(json.dumps(row) + "\n")
    _print_shares(rows)


def _is_asked(name: str, only: str) -> bool:
    return any(part in name for part in only.split(","))


def _short(row: Mapping[str, Any]) -> str:
    found = ", ".join(f"{rule}:{line}" for rule, line in zip(row["rules"], row["lines"], strict=True))  # fmt: skip
    words = ("at the line" if row["near"] else "MISSED", "fixed" if row["fixed"] else "not fixed")
    return f"{row['name']}: {row['status']}, {', '.join(words)} [{found[:60]}] {row['seconds']} s"


def _print_shares(rows: Sequence[Mapping[str, Any]]) -> None:
    wrong = [row for row in rows if row["status"] not in {"correct", "not_run", "grader_error"}]
    explained = [row for row in wrong if row["near"]]
    vague = [row for row in wrong if row["rules"] == ["NUM001"]]
    fixed = [row for row in wrong if row["fixed"]]
    print(f"called wrong: {len(wrong)} of {len(rows)}")
    for what, found in (("at its line", explained), ("NUM001 alone", vague), ("fixed", fixed)):
        print(f"{what}: {len(found)} of {len(wrong)} ({len(found) / max(len(wrong), 1):.0%})")


def _graded(grading: GradingContext, program: Wrong, folder: Path) -> dict[str, Any]:
    path = folder / "samples" / f"{program.name}.py"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(program.code)
    begun = time.monotonic()
    asked = grading.options.model_copy(update={"task": program.task})
    seen = review(replace(grading, options=asked), next(iter(read_samples([path]))))
    errors = [one for one in rank_findings(seen.findings) if one.severity == "error"]
    first = errors[0] if errors else None
    line = first.place.line if first and first.place else 0
    return {
        "name": program.name,
        "status": seen.verdict.status,
        "rules": [one.rule for one in errors],
        "lines": [one.place.line if one.place else 0 for one in errors],
        "warnings": [
            (one.rule, one.place.line if one.place else 0)
            for one in seen.findings
            if one.severity == "warning"
        ],
        "line": line,
        "cause": sorted(program.lines),
        "near": any(abs(line - cause) <= NEAR for cause in program.lines),
        "message": first.message[:300] if first else "",
        "sentence": seen.verdict.sentence[:300],
        "fixed": any(repair.kind == "fix" for repair in seen.repairs),
        "diff": next((repair.diff for repair in seen.repairs if repair.kind == "fix"), ""),
        "seconds": round(time.monotonic() - begun, 1),
    }


if __name__ == "__main__":
    main()
