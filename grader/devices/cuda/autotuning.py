"""Reads the output of Triton's autotuning in a guest on a GPU: the chosen configurations, and the time of measuring."""

from __future__ import annotations

import re

from grader.records import Autotuned

_TRIED = re.compile(r"^Autotuning kernel (\w+) with config ", re.MULTILINE)
_DONE = re.compile(
    r"^Triton autotuning for function (?P<kernel>\w+),\s*with key as [^\n]*,\s*finished after (?P<seconds>[\d.]+)s,"
    r"\s*best config selected: (?P<config>[^;\n]*);",
    re.MULTILINE,
)
MOST = 20


def read_autotuned(log: str) -> tuple[Autotuned, ...]:
    """Return one entry for each kernel's first tuning; a program that forges the output only misleads its reader."""
    tried = _TRIED.findall(log)
    found: dict[str, Autotuned] = {}
    for match in _DONE.finditer(log):
        parts = (one for one in match["config"].split(", ") if not one.endswith(": None"))
        found.setdefault(
            match["kernel"],
            Autotuned(
                kernel=match["kernel"],
                config=", ".join(parts),
                of=tried.count(match["kernel"]),
                seconds=float(match["seconds"]),
            ),
        )
    return tuple(found.values())[:MOST]
