"""Reads compute-sanitizer's output as evidence, in the format of versions 2023 to 2025.

The text comes from a process that runs generated code, so it is untrusted: it can explain a verdict, or take `correct`
away. Its kinds have the simulator's names, so that rules are independent of the evidence's source.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from grader.languages import place_compiled_line
from grader.records import Actor, Details, Evidence, MemoryAccess, Place, Race
from grader.source import Source

MOST_LINES = 20_000
_MARK = "========="
_PLAIN = re.compile(r"[^\x20-\x7e]+")
_PLACE = re.compile(r"\bat (?P<kernel>.+?)\+0x[0-9a-f]+(?: in (?P<file>\S+?):(?P<line>\d+))?\b")
_WHO = re.compile(r"thread \((\d+),(\d+),(\d+)\) in block \((\d+),(\d+),(\d+)\)")
_HAZARDS = re.compile(r"\[(\d+) hazards?\]")
_BYTES = re.compile(r"of size (\d+)(?: bytes)?")
_KINDS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), kind)
    for pattern, kind in (
        (r"Invalid __global__ (read|write|atomic)", "out-of-bounds"),
        (r"Invalid __shared__ (read|write|atomic)", "shared-out-of-bounds"),
        (r"Invalid __local__ (read|write|atomic)", "local-out-of-bounds"),
        (r"Uninitialized (?:__global__ )?memory (?:read|access)", "uninit-global-read"),
        (r"Uninitialized __global__", "uninit-global-read"),
        (r"Uninitialized __shared__", "uninit-shared-read"),
        (r"Race reported between", "race"),
        (r"Potential (?:RAW|WAR|WAW) hazard", "race"),
        (r"Barrier error detected", "barrier-divergence"),
        (r"Stack overflow|Out-of-range.*stack", "stack-overflow"),
    )
)
SENTENCES: Mapping[str, str] = {
    "out-of-bounds": "global memory is accessed outside of every allocation",
    "misaligned": "an address is not a multiple of the access's size",
    "shared-out-of-bounds": "shared memory is accessed outside of what the block has",
    "local-out-of-bounds": "a thread's own array is accessed outside of its bounds",
    "uninit-global-read": "global memory is read that nobody has written",
    "uninit-shared-read": "shared memory is read that nobody has written",
    "race": "two threads access the same shared memory without a barrier between",
    "barrier-divergence": "threads of a block don't meet at the same barrier",
    "stack-overflow": "calls nest deeper than a thread's stack",
}


@dataclass(frozen=True)
class Report:
    """One error reported by a tool, with its place."""

    kind: str
    """The simulator's name of the kind, e.g. `out-of-bounds`."""
    headline: str
    file: str = ""
    line: int = 0
    kernel: str = ""
    thread: tuple[int, ...] = ()
    block: tuple[int, ...] = ()
    other_file: str = ""
    """Place of the second access of a race."""
    other_line: int = 0
    details: str = ""
    """The tool's text on address and allocation."""
    count: int = 1


def read(text: str) -> tuple[Report, ...]:
    """Return the errors in a tool's text, of any shape; equal places once, with their count."""
    merged: dict[tuple[object, ...], Report] = {}
    for report in _reports(text.splitlines()[:MOST_LINES]):
        key = (report.kind, report.file, report.line, report.other_file, report.other_line)
        known = merged.get(key)
        merged[key] = replace(known, count=known.count + report.count) if known else report
    return tuple(merged.values())


def to_evidence(reports: Iterable[Report], source: Source, workload: str) -> Iterator[Evidence]:
    """Yield evidence at lines of the submission, merged where two places are on one line."""
    merged: dict[tuple[str, int, int], Evidence] = {}
    for report in reports:
        place = place_compiled_line(source, report.file, report.line)
        second = place_compiled_line(source, report.other_file, report.other_line)
        key = (report.kind, place.line if place else 0, second.line if second else 0)
        made = _evidence(report, place, second, workload)
        known = merged.get(key)
        count = made.count + (known.count if known else 0)
        merged[key] = (known or made).model_copy(update={"count": count})
    yield from merged.values()


def _reports(lines: Iterable[str]) -> Iterator[Report]:
    """Split the text into reports; each begins at a marked line that is indented by only one space."""
    current: list[str] = []
    for line in lines:
        body = line.removeprefix(_MARK)
        if body == line:
            continue
        if body.startswith(" ") and not body.startswith("  ") and body.strip():
            yield from _report(current)
            current = []
        current.append(body.strip())
    yield from _report(current)


def _report(lines: list[str]) -> Iterator[Report]:
    if not lines:
        return
    headline = _PLAIN.sub(" ", lines[0])[:400]
    kind = next((kind for pattern, kind in _KINDS if pattern.search(headline)), "")
    if not kind or headline.startswith("Info"):  # racecheck's term for writes of one value
        return
    details = [_PLAIN.sub(" ", line)[:300] for line in lines[1:8]]
    whole = " ".join((headline, *details))
    if "misaligned" in whole:
        kind = "misaligned"
    places = [m for m in _PLACE.finditer(whole) if m["file"]] or list(_PLACE.finditer(whole))
    who = _WHO.search(whole)
    first, second = [*places, None, None][:2]
    hazards = _HAZARDS.search(whole)
    yield Report(
        kind=kind,
        headline=headline,
        file=(first["file"] or "") if first else "",
        line=int(first["line"] or 0) if first else 0,
        kernel=first["kernel"].split()[-1] if first else "",
        thread=tuple(int(who[k]) for k in (1, 2, 3)) if who else (),
        block=tuple(int(who[k]) for k in (4, 5, 6)) if who else (),
        other_file=(second["file"] or "") if second and kind == "race" else "",
        other_line=int(second["line"] or 0) if second and kind == "race" else 0,
        details=next((d for d in details if d.startswith(("Address", "Access", "and is"))), ""),
        count=int(hazards[1]) if hazards else 1,
    )


def _evidence(report: Report, place: Place | None, second: Place | None, workload: str) -> Evidence:
    who = f"thread {report.thread} of block {report.block}: " if report.thread else ""
    also = f", the other at line {second.line}" if second else ""
    extra = f" ({report.details.rstrip('.')})" if report.details else ""
    return Evidence(
        kind="sanitizer",
        code=report.kind,
        text=f"compute-sanitizer: {who}{SENTENCES[report.kind]}{also}{extra}.",
        place=place,
        related=(second,) if second else (),
        workload=workload,
        count=report.count,
        kernel=report.kernel,
        actor=Actor(thread=_triple(report.thread), block=_triple(report.block)),
        details=_details(report),
    )


def _details(report: Report) -> Details | None:
    size = _BYTES.search(report.headline)
    if report.kind == "race":  # "Warning" is racecheck's term for a hazard inside a warp
        return Race(within_warp=report.headline.startswith("Warning"))
    return MemoryAccess(width=int(size[1])) if size else None


def _triple(numbers: tuple[int, ...]) -> tuple[int, int, int] | None:
    return numbers if len(numbers) == 3 else None
