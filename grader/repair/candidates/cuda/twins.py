"""What a variable's neighbour shows: `iw` is made as `ih` is, by the names that go with its own."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations

from grader.repair.candidates.candidate import Candidate
from grader.repair.candidates.cuda.scope import Scope, Site
from grader.repair.candidates.letters import as_twin, axes, difference
from grader.source.cuda_code import text

AS_TWIN = 1.0
"""Cost of a value made as its twin's."""


def twins(scope: Scope) -> Iterator[Candidate]:
    """Yield the values of variables as those of their twins."""
    for (one, value), (other, twin) in permutations(scope.made, 2):
        if words := as_twin(scope.names, (one, text(value)), (other, text(twin))):
            yield scope.change(twin, words, AS_TWIN, "")


def twin_names(site: Site) -> list[str]:
    """Return the names of the same kind that differ from one by the letters of an axis; of real numbers by any letter."""
    scope, kind = site.scope, site.scope.kind_of(site.node)
    known = scope.known(kind, site.node.start_byte) if kind else []
    apart = ((name, difference(site.words, name)) for name in known)
    letters = axes(scope.names)
    return [name for name, pair in apart if pair and (kind == "real" or pair in letters)]
