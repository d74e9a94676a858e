"""How often a review names the cause of a wrong result, at its line: `python benchmarks/causes/run.py --half 1`."""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[2]))

from set import Wrong, wrong_programs

from grader.config import Options
from grader.ingest import read_samples
from grader.pipeline import GradingContext, open_context
from grader.pipeline.review import review
from grader.report.findings import rank_findings
from grader.store import Store

NEAR = 2
"""Lines by which a finding may miss the cause."""


def main() -> None:
    """Grade a half of the set and print what share is explained."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--half", type=int, choices=range(1, 15), required=True)
    parser.add_argument("--only", default="")
    parser.add_argument("--repair", action="store_true")
    parser.add_argument("--every", type=int, default=1, help="take every Nth program")
    parser.add_argument("--start", type=int, default=0, help="begin with this one")
    parser.add_argument("--cache", type=Path, default=Path("/tmp/causes"))
    asked = parser.parse_args()
    options = Options(device="sim", repair=asked.repair, seed=7)
    grading = open_context(options, Store(asked.cache), 7)
    rows = []
    of_half = (one for one in wrong_programs() if one.half == asked.half and asked.only in one.name)
    programs = sorted(of_half, key=lambda one: one.order)
    for program in programs[asked.start :: asked.every]:
        rows.append(_graded(grading, program, asked.cache))
        print(json.dumps(rows[-1]), flush=True)
    wrong = [row for row in rows if row["status"] in {"incorrect", "unsound"}]
    explained = [row for row in wrong if row["near"]]
    vague = [row for row in wrong if row["rules"] == ["NUM001"]]
    for what, found in (("at its line", explained), ("NUM001 alone", vague)):
        print(f"{what}: {len(found)} of {len(wrong)} ({len(found) / max(len(wrong), 1):.0%})")


def _graded(grading: GradingContext, program: Wrong, folder: Path) -> dict[str, object]:
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
        "line": line,
        "cause": sorted(program.lines),
        "near": any(abs(line - cause) <= NEAR for cause in program.lines),
        "message": first.message[:300] if first else "",
        "fixed": any(repair.kind == "fix" for repair in seen.repairs),
        "seconds": round(time.monotonic() - begun, 1),
    }


if __name__ == "__main__":
    main()
