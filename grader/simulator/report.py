"""The simulator's report of a run, as evidence at lines of the submission.

The report comes from the process that ran generated code: its shape is checked against a closed
schema, sizes are limited, and what doesn't fit is dropped. It explains a verdict, and can only tell
against the submission: a race takes `correct` away, and nothing here gives it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from grader.records import Autotuned, Evidence, JsonValue, Launch, LineCount, Narrowed
from grader.simulator import fields
from grader.simulator.reader import (
    MOST_FINDINGS,
    MOST_LAUNCHES,
    MOST_LINES,
    Reader,
    short,
    with_own_lines,
)
from grader.simulator.wording import KINDS, OF_THE_HOST
from grader.source import Source

__all__ = [
    "KINDS",
    "MOST_FINDINGS",
    "OF_THE_HOST",
    "Outcome",
    "api_calls",
    "only_stores",
    "outcome",
    "read_autotuned",
    "read_narrowed",
    "switches",
    "to_evidence",
    "with_own_lines",
]


_PRECISIONS: Mapping[str, Literal["tf32", "float16", "bfloat16"]] = {
    "tf32": "tf32",
    "float16": "float16",
    "bfloat16": "bfloat16",
}


@dataclass(frozen=True)
class Outcome:
    """The end of a run on the simulator, apart from its findings."""

    hung: str = ""
    """Why it can never end; empty if it may."""
    over_budget: str = ""
    """The launch that was stopped for taking too long."""
    lost: str = ""
    """The sticky error that broke the context: every later call fails with it."""
    not_run: tuple[str, ...] = ()
    """Features that the simulator lacks."""
    operators: dict[str, int] = field(default_factory=dict)
    """torch operators that ran, by name."""
    launches: int = 0
    """Number of launched kernels."""


def outcome(report: JsonValue) -> Outcome:
    """Return how the run ended, from a guest's report of any shape."""
    host = fields.as_mapping(fields.as_mapping(report).get("host"))
    missing = fields.counts(host.get("not_run"), 50)
    launches = fields.entries(
        fields.as_mapping(fields.as_mapping(report).get("core")).get("launches"), MOST_LAUNCHES
    )
    return Outcome(
        hung=fields.text(host.get("hung")),
        over_budget=fields.text(host.get("over_budget")),
        lost=fields.text(host.get("sticky"))
        and fields.text(host.get("sticky_reason") or host.get("sticky")),
        not_run=tuple(missing),
        operators=fields.counts(fields.as_mapping(report).get("operators"), 500),
        launches=sum(max(fields.count(entry.get("count")), 1) for entry in launches),
    )


def api_calls(report: JsonValue) -> dict[str, int]:
    """Return the number of calls of each CUDA runtime function, from a guest's whole report."""
    return fields.counts(
        fields.as_mapping(
            fields.as_mapping(fields.as_mapping(report).get("simulator")).get("host")
        ).get("calls"),
        500,
    )


def only_stores(report: JsonValue) -> bool:
    """Whether kernels stored and read nothing, and nothing was copied, from a guest's whole report."""
    core = fields.as_mapping(
        fields.as_mapping(fields.as_mapping(report).get("simulator")).get("core")
    )
    launches = fields.entries(core.get("launches"), MOST_LAUNCHES)
    lines = fields.entries(core.get("lines"), MOST_LINES)
    accesses = sum(fields.count(entry.get("accesses")) for entry in launches)
    stores = sum(fields.count(entry.get("stores")) for entry in lines)
    return 0 < accesses == stores and not any("Memcpy" in name for name in api_calls(report))


def switches(report: JsonValue) -> tuple[str, ...]:
    """Return torch's reduced-precision switches that were on, from a guest's whole report."""
    given = fields.as_mapping(report).get("switches")
    return tuple(fields.text(name) for name in given[:20]) if isinstance(given, list) else ()


def read_narrowed(simulator: JsonValue) -> tuple[Narrowed, ...]:
    """Return torch's operators that lost digits, from the simulator's report."""
    given = fields.counts(fields.as_mapping(simulator).get("narrowed"), 100)
    words = ((key.partition(" "), count) for key, count in given.items())
    return tuple(
        Narrowed(precision=_PRECISIONS[how], operator=operator, count=count)
        for (how, _, operator), count in words
        if how in _PRECISIONS
    )


def read_autotuned(simulator: JsonValue) -> tuple[Autotuned, ...]:
    """Return the configurations chosen by autotuning, from the simulator's report."""
    given = fields.entries(fields.as_mapping(simulator).get("autotuned"), 100)
    found = (
        Autotuned(
            kernel=fields.text(entry.get("kernel")),
            config=fields.text(entry.get("config")),
            of=fields.count(entry.get("of")),
        )
        for entry in given
    )
    return tuple(dict.fromkeys(found))


def to_evidence(
    report: JsonValue, source: Source, workload: str | None = None
) -> tuple[tuple[Evidence, ...], tuple[LineCount, ...], tuple[Launch, ...]]:
    """Return the findings, the counts at each line, and the launches.

    Places are the submission's own lines; counts at lines that it doesn't have are dropped.
    """
    core = fields.as_mapping(fields.as_mapping(report).get("core"))
    host = fields.as_mapping(fields.as_mapping(report).get("host"))
    names = {
        key: short(fields.text(text))
        for key, text in list(fields.as_mapping(host.get("names")).items())[:500]
    }
    reader = Reader(source, workload, names)
    evidence = (
        *reader.findings(core),
        *reader.launch_errors(host),
        *reader.host_pointers(host),
        *reader.host_access(fields.as_mapping(host.get("host_access"))),
        *reader.unwritten_results(fields.as_mapping(report).get("unwritten")),
    )
    return evidence, tuple(reader.lines(core)), tuple(reader.launches(core, host))
