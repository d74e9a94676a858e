"""The small changes of a program, CUDA or Triton, before evidence says how likely each is."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import replace

from grader.repair.candidates.alike import cheapest, together
from grader.repair.candidates.candidate import Candidate, Touches
from grader.repair.candidates.changeable import Changeable
from grader.repair.candidates.cuda.scope import scopes as scopes_of_cuda
from grader.repair.candidates.evidence import Clues
from grader.repair.candidates.exchanges import exchanges
from grader.repair.candidates.rewrites import rewrite_expressions
from grader.repair.candidates.triton.scope import scopes as scopes_of_triton
from grader.repair.candidates.twins import twins
from grader.source import Source

SHORT = 2
"""Letters up to which a text that stands in several places means nothing in common: `0`, `i`."""
OF_HOST: tuple[Touches, ...] = ("launch", "shape", "factor")
"""Word for changes in host code."""


def changes(source: Source, clues: Clues) -> Iterator[tuple[Changeable, Candidate]]:
    """Yield the changes of each suspect function."""
    scopes: tuple[Changeable, ...] = (*scopes_of_cuda(source.cuda), *scopes_of_triton(source))
    for scope in (one for one in scopes if one.on_host or not clues.host_alone):
        for one in _changes(scope):
            touches = one.touches or scope.touches_of(one.pieces[0].node)
            if scope.on_host and touches not in OF_HOST:
                touches = "host"
            if clues.of_shapes or touches != "shape":
                yield scope, replace(one, touches=touches)


def _changes(scope: Changeable) -> Iterator[Candidate]:
    def within(one: Candidate) -> Iterator[Hashable]:
        """Yield the function, except for words without a common meaning, and the statement."""
        if len(one.pieces[0].old) > SHORT:
            yield 0
        yield scope.statement_of(one.pieces[0].node)

    every = (*rewrite_expressions(scope), *twins(scope))
    single = cheapest(every, lambda one: scope.says(one.pieces[0]))
    yield from (*single, *together(single, within), *exchanges(scope))
