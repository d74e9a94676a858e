"""What the capital names in a Triton program's rewrites stand for, the likeliest first."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial

from grader.repair.candidates.cuda.holes import CONSTANTS
from grader.repair.candidates.letters import axes, of_one_axis, twin_of
from grader.repair.candidates.triton.function import names_in, target_of
from grader.repair.candidates.triton.scope import Site

FORGOTTEN = 0.5
"""What the cost of a change is multiplied with where it uses a name that only its own updates use."""
NEXT = 0.12
"""What each next name of a kind adds to the cost of a change, as a share of it."""


def fill(site: Site, hole: str) -> Iterator[tuple[str, float]]:
    """Yield what has a value there and a name in capitals may stand for; forgotten names are likelier, each next one less so."""
    for turn, name in enumerate(HOLES[hole](site)):
        if site.scope.is_made_before(name, site.node):
            yield name, FORGOTTEN if name in site.scope.idle else 1 + NEXT * turn


def _of_kind(site: Site, kind: str) -> list[str]:
    """Return the names of a kind, those along the statement's own axis first, and those of the other axes that go with its own.

    No real number that is in it already.
    """
    known = site.scope.known.get(kind, ())
    inside = names_in(site.node) if kind == "REAL" else set()
    along = of_one_axis(site.scope.names, target_of(site.scope.statement_of(site.node)))
    along |= _twins(site) if kind == "SIZE" else set()
    return sorted((name for name in known if name not in inside), key=lambda name: name not in along)  # fmt: skip


def _twins(site: Site) -> set[str]:
    """Return the names that differ from those of an expression by the letter of an axis: `KH` for `KW`."""
    own, known = names_in(site.node), site.scope.names
    return {twin_of(known, name, pair) for name in own for pair in axes(known)} - own


def _inside(site: Site) -> list[str]:
    inside = names_in(site.node)
    return [name for name in site.scope.known.get("INDEX", ()) if name in inside]


def _bounds(site: Site) -> list[str]:
    return [one for one in site.scope.bounds if one not in site.scope.source.text(site.node)]


def _idle(site: Site) -> list[str]:
    """Return the indices that were taken apart for something, and go nowhere."""
    return [name for name in site.scope.known.get("INDEX", ()) if name in site.scope.idle]


def _target(site: Site) -> list[str]:
    return [site.scope.carried[site.node]] if site.node in site.scope.carried else []


def _near(site: Site) -> Iterator[str]:
    """Yield the numbers that formulas are made of and that one may have been taken for, the nearest first."""
    found = site.node.value if isinstance(site.node, ast.Constant) else 0.0
    value = float(found) if isinstance(found, int | float) else 0.0
    off = {other: abs(other - value) for other in CONSTANTS if other != value}
    close = (one for one in off if off[one] < 0.5 * abs(value) or max(one, value) < 0.01)
    yield from (repr(one) for one in sorted(close, key=off.__getitem__)[:3])


HOLES: Mapping[str, Callable[[Site], Iterable[str]]] = {
    **{kind: partial(_of_kind, kind=kind) for kind in ("POINTER", "SIZE", "INDEX", "REAL", "SELF")},
    "INSIDE": _inside,
    "BOUND": _bounds,
    "IDLE": _idle,
    "TARGET": _target,
    "NEAR": _near,
}
