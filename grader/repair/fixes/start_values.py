"""Fixes of uninitialised values seen in runs: they start at zero."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tree_sitter import Node

from grader.records import Evidence, Fix
from grader.repair.fixes.maker import FixMaker, of_proofs
from grader.source import Source, Unit
from grader.source.code_edits import fix
from grader.source.nodes import text

_FRAGMENT = re.compile(
    r"\bfragment\s*<\s*(?P<space>(?:\w+::)*)accumulator\b[^;]*>\s*(?P<name>\w+)(?P<dims>(?:\[\w+\])*);"
)
"""Tensor cores add to what is in it: it is filled by a call, never by its declaration."""


def fill_fragments(source: Source, item: Evidence) -> Iterator[Fix]:
    """Yield the fix that zeroes tensor core accumulators, where a run saw one read before it was set."""
    for unit in source.cuda if item.code == "uninit-local-read" else ():
        for node in unit.nodes("declaration"):
            found = _FRAGMENT.search(text(node))
            if found and not re.search(
                rf"fill_fragment\s*\(\s*{found['name']}\b", _around(unit, node)
            ):
                label = f"fill `{found['name']}` with zero before it is added to"
                yield from fix(label, [unit.edit(node.end_byte, node.end_byte, _filling(found))])


def _around(unit: Unit, node: Node) -> str:
    function = unit.function_around(node)
    return function.text if function is not None else ""


def _filling(found: re.Match[str]) -> str:
    """Return the call that fills a fragment, or each of an array of them."""
    loops, place = "", found["name"]
    for letter, size in zip("ijk", re.findall(r"\w+(?=\])", found["dims"]), strict=False):
        loops += f" for (int {letter} = 0; {letter} < {size}; ++{letter})"
        place += f"[{letter}]"
    return f"{loops} {found['space']}fill_fragment({place}, 0.0f);"


FIX = FixMaker(codes=("RED005",), propose=of_proofs(fill_fragments))
