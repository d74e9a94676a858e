"""The comparison of two runs as markdown: `kernel-grader compare BEFORE AFTER`."""

from __future__ import annotations

from grader.compare import Change, Compared, Moved
from grader.report import escape

CHANGES: tuple[Change, ...] = ("newly right", "newly wrong", "faster", "slower")
MOST = 50


def render(compared: Compared) -> str:
    """Return the counts, whether they could be chance, and a table for each kind of change."""
    shown: tuple[Change, ...] = (*CHANGES, "same", "not judged")
    counts = ", ".join(f"{compared.count(change)} {change}" for change in shown)
    lines = [
        "# What moved",
        "",
        f"{len(compared.pairs)} samples in both runs: {counts}.",
        "",
        chance(compared),
    ]
    for change in CHANGES:
        lines += _table(change, [pair for pair in compared.pairs if pair.change == change])
    lines += _rules(compared)
    lines += _alone("before", compared.only_before) + _alone("after", compared.only_after)
    return "\n".join(lines) + "\n"


def chance(compared: Compared) -> str:
    """Return whether right and wrong could have moved so without a cause."""
    won, lost = compared.count("newly right"), compared.count("newly wrong")
    if not won + lost:
        return "No verdict changed between right and wrong."
    likely = "could well be" if compared.p_value > 0.05 else "is hardly"
    return (
        f"The difference {likely} chance: {won} won against {lost} lost, "
        f"p = {compared.p_value:.3g} (exact McNemar test, two-sided)."
    )


def _table(change: str, pairs: list[Moved]) -> list[str]:
    if not pairs:
        return []
    rows = [_row(pair) for pair in pairs[:MOST]]
    left = [f"\n... and {len(pairs) - MOST} more."] if len(pairs) > MOST else []
    head = ["| sample | before | after | speed-up ratio |", "|---|---|---|---|"]
    return ["", f"## {change.capitalize()}", "", *head, *rows, *left]


def _row(pair: Moved) -> str:
    ratio = f"{pair.ratio:.2f}" if pair.ratio is not None else ""
    return f"| {escape.inline(pair.sample)} | `{pair.before}` | `{pair.after}` | {ratio} |"


def _rules(compared: Compared) -> list[str]:
    if not compared.rules:
        return []
    rows = [f"| {r.rule} {r.name} | {r.before} | {r.after} |" for r in compared.rules[:MOST]]
    return ["", "## Findings", "", "| rule | samples before | after |", "|---|---|---|", *rows]


def _alone(when: str, samples: tuple[str, ...]) -> list[str]:
    if not samples:
        return []
    named = ", ".join(escape.inline(sample) for sample in samples[:MOST])
    more = f" and {len(samples) - MOST} more" if len(samples) > MOST else ""
    return ["", f"Only {when} ({len(samples)}): {named}{more}."]
