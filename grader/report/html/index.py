"""The page of a whole run: its scores, a table to filter and sort, plots."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from grader.report.entry import Entry
from grader.report.escape import one_line
from grader.report.html import templates
from grader.report.html.packed import pack
from grader.report.html.plots import plots
from grader.report.html.speed import floors
from grader.report.status import FAILED, group, in_words, rank
from grader.stats import Interval, is_right, scores

PLAIN = 400
"""Rows that are in the page as markup, readable without JavaScript; further rows are packed."""
BUDGET = 290_000
"""Bytes that the page may have; the table's sentences share the space that is left."""
_WHOLE, _PLAIN_SENTENCE = 600, 400
_FEW = 150
"""Number of rows up to which sentences are never shortened."""
_PACKED_SENTENCES = (240, 160, 100, 50, 0)


class Line(NamedTuple):
    """One row of the table."""

    status: str
    group: str
    cells: tuple[str, ...]
    """Text by column: sample, task, status, speed-up, errors, warnings, fix, seconds, why."""
    rules: str
    """Codes of its findings, to search for."""


def render(entries: Sequence[Entry], environment: Mapping[str, str]) -> str:
    """Return the page; `environment` holds versions and devices by name, as reviews record them."""
    ordered = sorted(entries, key=lambda entry: (rank(entry.status), entry.sample))
    page = _Page(ordered, environment)
    if len(ordered) <= PLAIN:
        longest = _WHOLE if len(ordered) <= _FEW else _PLAIN_SENTENCE
        return page.text(plain=[_line(entry, longest) for entry in ordered])
    for longest in _PACKED_SENTENCES:
        rows = [(*line.cells, line.rules) for line in (_line(e, longest) for e in ordered)]
        made = page.text(packed=pack(rows))
        if len(made.encode("utf-8", "replace")) <= BUDGET:
            break
    return made


class _Page:
    """The page but for its rows."""

    def __init__(self, entries: Sequence[Entry], environment: Mapping[str, str]) -> None:
        measured = floors([entry.times for entry in entries if entry.times])
        self._parts: dict[str, Any] = {
            "samples": len(entries),
            "counts": Counter(map(_words, entries)).most_common(),
            "group": group,
            "numbers": _numbers(entries),
            "plots": [*plots(entries), *filter(None, (measured,))],
            "strip": _strip(entries, environment),
            "totals": (sum(e.errors for e in entries), sum(e.warnings for e in entries)),
        }

    def text(self, plain: Sequence[Line] = (), packed: str = "") -> str:
        template = templates.environment().get_template("index.html.jinja")
        return template.render(lines=plain, packed=packed, **self._parts)


def _words(entry: Entry) -> str:
    return in_words(entry.status, entry.general)


def _line(entry: Entry, longest: int) -> Line:
    rules = sorted({claimed.rule for claimed in entry.claimed})
    cells = (
        entry.sample,
        one_line(entry.task or "unknown", 60),
        _words(entry).replace("_", " "),
        _speed(entry),
        str(entry.errors or ""),
        str(entry.warnings or ""),
        "fixed" if entry.fixed else "reference" if entry.has_reference else "",
        f"{entry.seconds:.1f}",
        _short(entry.sentence, longest),
    )
    return Line(_words(entry).replace(" ", "_"), group(_words(entry)), cells, " ".join(rules[:8]))


def _speed(entry: Entry) -> str:
    if entry.speedup is None:
        return ""
    low, high = entry.speedup_low, entry.speedup_high
    known = low is not None and high is not None
    return f"{entry.speedup:.2f}x" + (f" [{low:.2f}, {high:.2f}]" if known else "")


def _short(sentence: str, longest: int) -> str:
    whole = one_line(sentence, _WHOLE)
    if len(whole) <= longest:
        return whole
    return f"{whole[: longest - 1]}…" if longest else ""


def _numbers(entries: Sequence[Entry]) -> list[tuple[str, str, str]]:
    """Return the known numbers of the header: value, name, and interval or basis."""
    made = scores(entries)
    right = sum(map(is_right, entries))
    failed = [entry for entry in entries if group(entry.status) in FAILED]
    fixed = sum(entry.fixed for entry in failed)
    fast = made.fast.get("1")
    lucky = sum(entry.status == "unsound" for entry in entries)
    numbers = [(f"{right}/{made.graded}", "correct", _interval(made.correct))]
    if lucky:
        numbers.append((f"{lucky}/{made.graded}", "unsound", "right values, left to luck"))
    if fast and made.speedup:
        speedup = (f"{made.speedup:.2f}x", "mean speed-up", "geometric, correct samples")
        numbers += [(f"{fast.value:.2f}", "fast₁", _interval(fast)), speedup]
    if failed:
        numbers.append((f"{fixed}/{len(failed)}", "fixed", "of what failed; each fix has passed"))
    return numbers


def _interval(interval: Interval | None) -> str:
    if interval is None:
        return "nothing was graded"
    return f"{interval.value:.0%}, 95% interval {interval.low:.0%} to {interval.high:.0%}"


def _strip(entries: Sequence[Entry], environment: Mapping[str, str]) -> list[str]:
    """Return the run's environment: devices, sandboxes, versions."""
    devices = sorted({entry.device for entry in entries})
    shared = dict(environment)
    if len(devices) > 1:
        shared["device"] = ", ".join(devices)
    sandboxes = sorted({entry.sandbox for entry in entries if entry.sandbox})
    made = [f"sandbox: {', '.join(sandboxes)}"] if sandboxes else []
    shown = sorted(shared.items(), key=lambda item: (item[0] != "device", item[0]))
    return [f"{name}: {one_line(value, 80)}" for name, value in shown] + made
