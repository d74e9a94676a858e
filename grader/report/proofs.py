"""Evidence as listed in reports: the same observation on several workloads is one line."""

from __future__ import annotations

from typing import NamedTuple

from grader.records import Evidence, Finding

MOST = 4
MOST_NAMED = 3


class Proof(NamedTuple):
    """One observation, and the workloads that showed it."""

    kind: str
    text: str
    on: str
    """Names of the first few workloads; empty if there is none."""
    times: int
    """The highest count on one workload."""


def proofs(finding: Finding, most: int = MOST) -> list[Proof]:
    """Return a finding's first observations, each once and none that its message has word for word.

    Observations at one line are one, whatever threads they name.
    So are equal sentences at several lines, and a wrong result on several workloads, whose numbers the table of
    workloads has.
    """
    groups: dict[tuple[str, ...], list[Evidence]] = {}
    for item in finding.evidence:
        if item.workload is None and _is_shown(item.text, above=finding.message):
            continue
        groups.setdefault(_key(item), []).append(item)
    said: dict[tuple[str, ...], list[Evidence]] = {}
    for items in groups.values():
        said.setdefault((items[0].kind, items[0].code, items[0].text), []).extend(items)
    return [_proof(items) for items in list(said.values())[:most]]


def _is_shown(sentence: str, above: str) -> bool:
    """Whether a reader has read this sentence already: the page says nothing twice."""
    return sentence.rstrip(".") in above


def _key(item: Evidence) -> tuple[str, ...]:
    if item.kind == "mismatch" and item.workload is not None:
        return item.kind, item.code
    if item.workload is None or item.place is None:
        return item.kind, item.text
    lines = (item.place.line, *(place.line for place in item.related))
    return item.kind, item.code, *map(str, lines)


def _proof(items: list[Evidence]) -> Proof:
    names = list(dict.fromkeys(item.workload for item in items if item.workload))
    if items[0].kind == "mismatch" and len({item.text for item in items}) > 1:
        more = f"{len(names) - 1} more workload{'s are' if len(names) > 2 else ' is'} wrong"
        return Proof(items[0].kind, f"{items[0].text} ({more})", names[0], 1)
    on = ", ".join(names[:MOST_NAMED])
    if len(names) > MOST_NAMED:
        on += f" and {len(names) - MOST_NAMED} more"
    return Proof(items[0].kind, items[0].text, on, max(item.count for item in items))
