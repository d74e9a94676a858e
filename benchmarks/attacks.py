"""Every attack and every honest twin through the whole pipeline, on the simulator or on a GPU.

Run as `python benchmarks/attacks.py [--form NAME] [--device cuda] [--jobs N] [--part K/N] [--seconds S] [--write FILE]
[part of a name ...]`; exits with 1 on any miss. `--form` takes a weaker form of the sandbox than the strongest one that
holds here, `--jobs` how many are graded at a time, `--part 2/3` the second of three interleaved parts. After `--seconds`
none is begun any more; what was left out is counted. Prints a Markdown table, those of docs/log/, and where the time
went; `--write` keeps it all as JSON.
"""

from __future__ import annotations

import argparse
import json
import math
import secrets
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Literal

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.attacks import suite


def main(
    wanted: list[str],
    form: str,
    jobs: int,
    device: Literal["sim", "cuda"],
    part: tuple[int, int],
    seconds: float,
    write: Path | None,
) -> int:
    every = [
        case
        for case in (*suite.attacks(), *suite.twins())
        if not wanted or any(part in case.name for part in wanted)
    ]
    cases = every[part[0] - 1 :: part[1]]
    shop = suite.grading(secrets.randbits(62), form=form, device=device)
    print(f"sandbox: {shop.form.name}; device: {shop.device.name if shop.device else 'none'}\n")
    print("| submission | row | expected | verdict | ok | rules | why | s |")
    print("|---|---|---|---|---|---|---|---|")
    missed: list[str] = []
    told: list[dict[str, object]] = []
    late: list[str] = []
    spent: Counter[str] = Counter()
    statuses: Counter[str] = Counter()
    begin = time.monotonic()
    for outcome in suite.grade(cases, shop, jobs, begin + seconds):
        if isinstance(outcome, suite.LeftOut):
            late.append(outcome.case.name)
            continue
        print(_row(outcome), flush=True)
        told.append(_record(outcome))
        spent.update(outcome.review.evaluation.seconds)
        statuses[f"{'twin' if '/' in outcome.case.name else 'attack'} {outcome.status}"] += 1
        if not outcome.ok:
            missed.append(outcome.case.name)
    wall = time.monotonic() - begin
    if write:
        about = {"form": shop.form.name, "device": device, "part": part, "seconds": round(wall)}
        kept = {**about, "missed": missed, "left out": late, "rows": told}
        write.write_text(json.dumps(kept, indent=1), "utf-8")
    print(
        f"\n{len(told)} submissions ({len(late)} left out) in {wall:.0f} s by {jobs} at a time, {len(missed)} missed",
        end="",
    )
    print(f"{': ' if missed else ''}{', '.join(missed)}")
    print("verdicts:", ", ".join(f"{count} {name}" for name, count in sorted(statuses.items())))
    print("seconds:", ", ".join(f"{name} {one:.0f}" for name, one in spent.most_common()))
    return 1 if missed else 0


def _record(outcome: suite.Outcome) -> dict[str, object]:
    case, verdict = outcome.case, outcome.review.verdict
    known = {"name": case.name, "expect": case.expect, "status": verdict.status, "ok": outcome.ok}
    return {**known, "sentence": verdict.sentence[:300], "seconds": round(outcome.seconds, 1)}


def _part(text: str) -> tuple[int, int]:
    part, parts = (int(one) for one in text.split("/"))
    return part, parts


def _row(outcome: suite.Outcome) -> str:
    case, verdict = outcome.case, outcome.review.verdict
    rules = sorted({f.rule for f in outcome.review.findings if f.severity == "error"})
    why = verdict.sentence.replace("|", "/").replace("\n", " ")[:110]
    cells = (
        case.name,
        case.row,
        case.expect + ("" if case.policy == "any" else f" ({case.policy})"),
        verdict.status,
        "yes" if outcome.ok else "**NO**",
        " ".join(rules),
        why,
        f"{outcome.seconds:.1f}",
    )
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*")
    parser.add_argument("--form", default="")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--device", choices=["sim", "cuda"], default="sim")
    parser.add_argument("--part", type=_part, default=(1, 1), metavar="K/N")
    parser.add_argument("--seconds", type=float, default=math.inf)
    parser.add_argument("--write", type=Path)
    given = parser.parse_args()
    chosen = (given.form, given.jobs, given.device, given.part, given.seconds, given.write)
    raise SystemExit(main(given.parts, *chosen))
