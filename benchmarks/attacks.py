"""Every attack and every honest twin through the whole pipeline, on the simulator or on a GPU.

Run as `python benchmarks/attacks.py [--form NAME] [--device cuda] [--jobs N] [part of a name ...]`; exits with 1 on any miss.
`--form` takes a weaker form of the sandbox than the strongest one that holds here, `--jobs` how many
are graded at a time. Prints a Markdown table, those of docs/log/, and where the time went.
"""

from __future__ import annotations

import argparse
import secrets
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Literal

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.attacks import suite


def main(wanted: list[str], form: str, jobs: int, device: Literal["sim", "cuda"]) -> int:
    cases = [
        case
        for case in (*suite.attacks(), *suite.twins())
        if not wanted or any(part in case.name for part in wanted)
    ]
    shop = suite.grading(secrets.randbits(62), form=form, device=device)
    print(f"sandbox: {shop.form.name}; device: {shop.device.name if shop.device else 'none'}\n")
    print("| submission | row | expected | verdict | ok | rules | why | s |")
    print("|---|---|---|---|---|---|---|---|")
    missed: list[str] = []
    spent: Counter[str] = Counter()
    statuses: Counter[str] = Counter()
    begin = time.monotonic()
    for outcome in suite.grade(cases, shop, jobs):
        print(_row(outcome), flush=True)
        spent.update(outcome.review.evaluation.seconds)
        statuses[f"{'twin' if '/' in outcome.case.name else 'attack'} {outcome.status}"] += 1
        if not outcome.ok:
            missed.append(outcome.case.name)
    wall = time.monotonic() - begin
    print(
        f"\n{len(cases)} submissions in {wall:.0f} s by {jobs} at a time, {len(missed)} missed",
        end="",
    )
    print(f"{': ' if missed else ''}{', '.join(missed)}")
    print("verdicts:", ", ".join(f"{count} {name}" for name, count in sorted(statuses.items())))
    print("seconds:", ", ".join(f"{name} {one:.0f}" for name, one in spent.most_common()))
    return 1 if missed else 0


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
    given = parser.parse_args()
    raise SystemExit(main(given.parts, given.form, given.jobs, given.device))
