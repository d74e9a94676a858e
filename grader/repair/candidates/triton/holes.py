"""Values of the capital names in Triton's rewrites, the likeliest first."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Mapping
from functools import partial

from grader.repair.candidates.changeable import Site
from grader.repair.candidates.letters import axes, of_one_axis, twin_of
from grader.repair.candidates.numbers import near_constants
from grader.repair.candidates.pattern import Hole
from grader.repair.candidates.triton.function import names_in, target_of
from grader.repair.candidates.triton.names import Names

TritonSite = Site[Names]


def _of_kind(site: TritonSite, kind: str) -> list[str]:
    """Return the names of a kind, those along the statement's own axis first, and those of the other axes that go with its own.

    No real number that is in it already.
    """
    known = site.scope.known.get(kind, ())
    inside = names_in(site.node) if kind == "REAL" else set()
    along = of_one_axis(site.scope.names, target_of(site.scope.statement_of(site.node)))
    along |= _twins(site) if kind == "SIZE" else set()
    return sorted((name for name in known if name not in inside), key=lambda name: name not in along)  # fmt: skip


def _twins(site: TritonSite) -> set[str]:
    """Return the names that differ from those of an expression by the letter of an axis: `KH` for `KW`."""
    own, known = names_in(site.node), site.scope.names
    return {twin_of(known, name, pair) for name in own for pair in axes(known)} - own


def _inside(site: TritonSite) -> list[str]:
    inside = names_in(site.node)
    return [name for name in site.scope.known.get("INDEX", ()) if name in inside]


def _bounds(site: TritonSite) -> list[str]:
    return [one for one in site.scope.bounds if one not in site.scope.source.text(site.node)]


def _idle(site: TritonSite) -> list[str]:
    """Return the decomposed indices that are unused."""
    return [name for name in site.scope.known.get("INDEX", ()) if name in site.scope.idle]


def _target(site: TritonSite) -> list[str]:
    return [site.scope.carried[site.node]] if site.node in site.scope.carried else []


def _axes(site: TritonSite) -> list[str]:
    """Return the axis that a block has most often elsewhere; either one for a range without any."""
    axes = rf"\b{site.words}(\[(?::, None|None, :)\])"
    given = Counter(re.findall(axes, site.scope.old(site.scope.node))).most_common(1)
    made = site.scope.kernel.assigned.get(site.words, ()) if site.scope.kernel else ()
    ranges = any("arange" in ast.unparse(value) for value in made)
    return [axis for axis, _ in given] or (["[:, None]", "[None, :]"] if ranges else [])


def _near(site: TritonSite) -> list[str]:
    """Return the numbers that one may be confused with, the nearest first."""
    found = site.node.value if isinstance(site.node, ast.Constant) else 0.0
    return [repr(one) for one in near_constants(found)[:3]] if isinstance(found, float) else []


HOLES: Mapping[str, Hole] = {
    **{kind: partial(_of_kind, kind=kind) for kind in ("POINTER", "SIZE", "INDEX", "REAL")},
    "INSIDE": _inside,
    "BOUND": _bounds,
    "IDLE": _idle,
    "TARGET": _target,
    "NEAR": _near,
    "AXIS": _axes,
    "BLOCK": lambda site: sorted(site.scope.kernel.constants),
}
