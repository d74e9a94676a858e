"""The review as markdown: one screen first, the rest folded; same results, same bytes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from grader.records import Finding, KernelResources, Review, Run
from grader.report import escape, names
from grader.report.excerpt import excerpt
from grader.report.findings import by_rule, folded, shown
from grader.report.gain import gain
from grader.report.log import readable
from grader.report.places import command
from grader.report.proofs import Proof, proofs
from grader.report.status import right

BADGES = {"error": "🛑 error", "warning": "⚠️ warning", "note": "🔹 note"}
DIFF_LINES = 40
MOST = 4
"""Findings that are shown with excerpt and evidence; more are folded, a line each."""


@cache
def _templates() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # noqa: S701 - markdown, not HTML: every value passes through `escape`
    )
    environment.filters |= {
        "prose": escape.prose,
        "ended": escape.ended,
        "inline": escape.inline,
        "code": escape.code,
        "fence": escape.fence,
        "diff": diff,
        "yes": _yes,
        "right": right,
        "badge": BADGES.__getitem__,
    }
    return environment


def render(review: Review) -> str:
    """Return the review's markdown."""
    lines = (review.code or "").splitlines()
    found = shown(review.findings)
    notes = [finding for finding in found if finding.severity == "note"]
    return (
        _templates()
        .get_template("review.md.jinja")
        .render(
            review=review,
            verdict=review.verdict,
            evaluation=review.evaluation,
            fix=next((item for item in review.repairs if item.kind != "reference"), None),
            reference=review.reference,
            gain=gain(review),
            main=[finding for finding in found if finding.severity != "note"],
            most=MOST,
            notes=by_rule(notes),
            folded=folded(review.findings),
            excerpt=lambda finding: _excerpt(lines, finding),
            where=where,
            proof=_proof,
            proofs=proofs,
            command=command,
            resources=_resources(review),
            launches=_launches(review.evaluation.runs),
            workloads=workloads(review),
            log=readable,
            repair_name=lambda kind: names.repair(review.sample, kind),
        )
    )


def where(finding: Finding) -> str:
    """Return "line 24 (sample line 53)", or nothing for a finding without a place."""
    place = finding.place
    if place is None:
        return ""
    lines = (
        f"line {place.line}"
        if place.line >= place.end_line
        else f"lines {place.line}-{place.end_line}"
    )
    return f"{lines} (sample line {place.sample_line})" if place.sample_line else lines


def _proof(proof: Proof) -> str:
    times = f" ({proof.times} times)" if proof.times > 1 else ""
    on = f" on {escape.inline(proof.on, 240)}" if proof.on else ""
    return f"*{proof.kind}*{on}: {escape.prose(proof.text)}{times}"


def diff(text: str) -> str:
    """Return a diff as a fenced block; a long one is cut at its end."""
    lines = text.strip("\n").split("\n")
    left = len(lines) - DIFF_LINES
    if left > 0:
        lines = [*lines[:DIFF_LINES], f"[... {left} lines left out; the page shows all ...]"]
    return escape.fence("\n".join(lines), "diff")


def _yes(value: bool | None) -> str:
    return {True: "yes", False: "no", None: "-"}[value]


def _excerpt(lines: Sequence[str], finding: Finding) -> str:
    if finding.place is None or not 1 <= finding.place.line <= len(lines):
        return ""
    return escape.fence(excerpt(lines, finding.place))


def _resources(review: Review) -> tuple[KernelResources, ...]:
    return review.evaluation.build.resources if review.evaluation.build else ()


def _launches(runs: Sequence[Run]) -> list[str]:
    listed: dict[str, list[str]] = {}
    for run in runs:
        for launch in run.launches:
            grid, block = ("x".join(map(str, size)) for size in (launch.grid, launch.block))
            size = f"&lt;&lt;&lt;{grid}, {block}, {launch.shared_bytes} B>>>"
            listed.setdefault(f"{escape.code(launch.kernel)} {size}", []).append(run.workload)
    return [f"{launch} on {_few(names)}" for launch, names in listed.items()][:12]


def _few(names: Sequence[str]) -> str:
    different = list(dict.fromkeys(names))
    more = f" and {len(different) - 3} more workloads" if len(different) > 3 else ""
    return escape.inline(", ".join(different[:3]), 200) + more


def workloads(review: Review) -> list[dict[str, str]]:
    """Return name, role, outcome and detail of each workload that was run; what several raise is said once."""
    compared = {item.workload: item for item in review.evaluation.comparisons}
    rows: list[dict[str, str]] = []
    raised = ""
    for run in review.evaluation.runs:
        item = compared.get(run.workload)
        outcome: str
        if item is None:
            again = run.reason and run.reason == raised
            outcome, detail = run.status, "as above" if again else run.reason
            raised = run.reason
        elif item.equal:
            outcome, detail = "right", item.note
        else:
            outcome = "wrong" if item.decides else "differs, not counted"
            detail = item.mismatch.text if item.mismatch else item.note
        rows.append(
            {
                "name": run.workload,
                "role": item.role if item else "",
                "outcome": outcome,
                "detail": detail,
            }
        )
    return rows
