"""The review as markdown: one screen first, the rest folded; same results, same bytes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from grader.records import Finding, KernelResources, Review, Run
from grader.report import escape
from grader.report.excerpt import excerpt
from grader.report.proofs import Proof, proofs

BADGES = {"error": "🛑 error", "warning": "⚠️ warning", "note": "ℹ️ note"}
SHOWN_NOTES = 8


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
        "inline": escape.inline,
        "code": escape.code,
        "fence": escape.fence,
        "yes": _yes,
        "badge": BADGES.__getitem__,
    }
    return environment


def render(review: Review) -> str:
    """Return the review's markdown."""
    lines = (review.code or "").splitlines()
    notes = [finding for finding in review.findings if finding.severity == "note"]
    folded = [finding for finding in notes if finding.data.get("fold")]
    return (
        _templates()
        .get_template("review.md.jinja")
        .render(
            review=review,
            verdict=review.verdict,
            evaluation=review.evaluation,
            mend=next((item for item in review.repairs if item.kind != "reference"), None),
            reference=next((item for item in review.repairs if item.kind == "reference"), None),
            main=[finding for finding in review.findings if finding.severity != "note"],
            notes=[finding for finding in notes if finding not in folded],
            folded=sorted({f"{finding.name} ({finding.rule})" for finding in folded}),
            excerpt=lambda finding: _excerpt(lines, finding),
            where=where,
            proof=_proof,
            proofs=proofs,
            resources=_resources(review),
            launches=_launches(review.evaluation.runs),
            workloads=workloads(review),
            trim=trim_log,
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


def _yes(value: bool | None) -> str:
    return {True: "yes", False: "no", None: "–"}[value]


def _excerpt(lines: Sequence[str], finding: Finding) -> str:
    if finding.place is None or not 1 <= finding.place.line <= len(lines):
        return ""
    return escape.fence(excerpt(lines, finding.place))


def _resources(review: Review) -> tuple[KernelResources, ...]:
    return review.evaluation.build.resources if review.evaluation.build else ()


def _launches(runs: Sequence[Run]) -> list[str]:
    shown: dict[str, None] = {}
    for run in runs:
        for launch in run.launches:
            grid, block = ("x".join(map(str, size)) for size in (launch.grid, launch.block))
            times = f", {launch.count} times" if launch.count > 1 else ""
            size = f"&lt;&lt;&lt;{grid}, {block}, {launch.shared_bytes} B>>>"
            on = escape.inline(run.workload, 60)
            shown[f"{escape.code(launch.kernel)} {size} on {on}{times}"] = None
    return list(shown)[:24]


def workloads(review: Review) -> list[dict[str, str]]:
    """Return name, role, outcome and detail of each workload that was run."""
    compared = {item.workload: item for item in review.evaluation.comparisons}
    rows = []
    for run in review.evaluation.runs:
        item = compared.get(run.workload)
        outcome: str
        if item is None:
            outcome, detail = run.status, run.reason
        elif item.equal:
            outcome, detail = "right", item.note
        else:
            outcome = "wrong" if item.counts else "differs, not counted"
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


def trim_log(log: str, lines: int = 60) -> str:
    """Return the log with its middle left out beyond that many lines."""
    kept = log.strip().splitlines()
    if len(kept) <= lines:
        return "\n".join(kept)
    head = lines // 2
    return "\n".join(
        (*kept[:head], f"[... {len(kept) - 2 * head} lines left out ...]", *kept[-head:])
    )
