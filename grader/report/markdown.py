"""The review as markdown: one screen first, the rest folded; same results, same bytes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from math import prod
from pathlib import Path
from typing import NamedTuple

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from grader.records import Finding, KernelResources, Launch, Place, Review, Run
from grader.report import escape, names
from grader.report.excerpt import excerpt
from grader.report.facts import facts
from grader.report.findings import by_rule, cause, folded_notes, listed_findings
from grader.report.gain import gain
from grader.report.log import readable
from grader.report.places import command
from grader.report.proofs import Proof, proofs
from grader.report.reasons import reasons
from grader.report.status import in_words

BADGES = {"error": "🛑 error", "warning": "⚠️ warning", "note": "🔹 note"}
MOST_LINES = 150
LANES = 32
"""Threads of a warp."""
DIFF_LINES = 40


class Size(NamedTuple):
    """The length of each part of a review; the HTML page shows everything."""

    most: int
    """Findings with excerpt and evidence; more are folded, a line each."""
    rows: int
    """Rows of a table, lines of a log."""
    diff: int
    """Lines of the fix."""
    whole: bool = True
    """Whether kernels, logs and intermediate steps are shown at all."""


SIZES = (
    Size(4, 12, DIFF_LINES),
    Size(4, 5, DIFF_LINES),
    Size(4, 5, DIFF_LINES, whole=False),
    Size(3, 3, 30, whole=False),
    Size(2, 3, 24, whole=False),
    Size(1, 2, 20, whole=False),
)
"""Tried in turn until a review is no longer than MOST_LINES."""


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
        "ended": escape.end_sentence,
        "inline": escape.inline,
        "code": escape.code,
        "fence": escape.fence,
        "diff": diff,
        "badge": BADGES.__getitem__,
    }
    return environment


def render(review: Review) -> str:
    """Return the review's markdown, at most MOST_LINES long: folded parts are shortened to fit."""
    for size in SIZES:
        text = markdown_of_size(review, size)
        if text.count("\n") <= MOST_LINES:
            break
    return text


def markdown_of_size(review: Review, size: Size) -> str:
    """Return the markdown with parts of this size."""
    found = listed_findings(review)
    text = (
        _templates()
        .get_template("review.md.jinja")
        .render(
            rules={finding.rule for finding in review.findings},
            **_review_parts(review),
            main=[finding for finding in found if finding.severity != "note"],
            notes=by_rule([finding for finding in found if finding.severity == "note"]),
            most=size.most,
            rows=size.rows,
            diff_lines=size.diff,
            whole=size.whole,
            proofs=lambda finding: proofs(finding, size.most),
        )
    )
    return re.sub(r"\n{3,}", "\n\n", text)


def _review_parts(review: Review) -> dict[str, object]:
    """Return the parts that a review of any length has."""
    lines = (review.code or "").splitlines()
    return {
        "review": review,
        "verdict": review.verdict,
        "words": in_words(review.verdict.status, review.verdict.general),
        "evaluation": review.evaluation,
        "reasons": reasons(review),
        "facts": facts(review),
        "cause": cause(review),
        "fix": next((item for item in review.repairs if item.kind != "reference"), None),
        "reference": review.reference,
        "gain": gain(review),
        "folded": folded_notes(review.findings),
        "excerpt": lambda finding: _excerpt(lines, finding),
        "where": where,
        "proof": _proof,
        "command": command,
        "resources": _resources(review),
        "launches": _launches(review.evaluation.runs, review.code or ""),
        "workloads": workloads(review),
        "log": readable,
        "repair_name": lambda kind: names.repair(review.sample, kind),
    }


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


def diff(text: str, most: int = DIFF_LINES) -> str:
    """Return a diff as a fenced block; a long one is cut at its end."""
    lines = escape.clean(text, 100_000).strip("\n").split("\n")
    left = len(lines) - most
    if left > 0:
        lines = [*lines[:most], f"[... {left} lines left out; the page shows all ...]"]
    return escape.fence("\n".join(lines), "diff")


def _excerpt(lines: Sequence[str], finding: Finding) -> str:
    """Return the finding's lines, and the first other line that takes part in it."""
    place = finding.place
    if place is None or not 1 <= place.line <= len(lines):
        return ""
    other = _other_place(finding, place, len(lines))
    width = len(str(max(place.end_line + 1, other.line if other else 0)))
    parts = [(place.line, excerpt(lines, place, width=width))]
    if other is not None:
        parts.append((other.line, excerpt(lines, other, around=0, width=width)))
    return escape.fence("\n...\n".join(text for _, text in sorted(parts)))


def _other_place(finding: Finding, place: Place, length: int) -> Place | None:
    related = (other for item in finding.evidence for other in item.related)
    apart = (one for one in related if not place.line - 1 <= one.line <= place.end_line + 1)
    return next((one for one in apart if 1 <= one.line <= length), None)


def _resources(review: Review) -> tuple[KernelResources, ...]:
    return review.evaluation.build.resources if review.evaluation.build else ()


def _launches(runs: Sequence[Run], code: str) -> list[str]:
    listed: dict[str, list[str]] = {}
    for run in runs:
        for launch in run.launches:
            listed.setdefault(_launch(launch, code), []).append(run.workload)
    return [f"{launch} on {_few(names)}" for launch, names in listed.items()][:12]


def _launch(launch: Launch, code: str) -> str:
    """Return a launch as its language writes it: a kernel that is a Python function is Triton's."""
    if re.search(rf"^\s*def {re.escape(launch.kernel)}\(", code, re.MULTILINE):
        grid = launch.grid if launch.grid[1:] != (1, 1) else launch.grid[:1]
        warps = -(-prod(launch.block) // LANES)
        return f"{escape.code(f'{launch.kernel}[{grid}]')} with num_warps={warps} and {launch.shared_bytes} B of shared memory"
    blocks, threads = ("x".join(map(str, size)) for size in (launch.grid, launch.block))
    return (
        f"{escape.code(launch.kernel)} &lt;&lt;&lt;{blocks}, {threads}, {launch.shared_bytes} B>>>"
    )


def _few(names: Sequence[str]) -> str:
    different = list(dict.fromkeys(names))
    more = f" and {len(different) - 3} more workloads" if len(different) > 3 else ""
    return escape.inline(", ".join(different[:3]), 200) + more


def workloads(review: Review) -> list[dict[str, str]]:
    """Return name, role, outcome and detail of each workload that was run; an exception raised by several is shown once."""
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
                "role": item.role if item else review.task.roles.get(run.workload, ""),
                "outcome": outcome,
                "detail": detail,
            }
        )
    return rows
