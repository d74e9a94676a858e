"""All small changes of a program, the likeliest first: those supported by evidence before others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import lru_cache
from itertools import islice

from grader.diagnose import Program
from grader.repair.candidates.candidate import Candidate
from grader.repair.candidates.changeable import Changeable
from grader.repair.candidates.changes import changes
from grader.repair.candidates.evidence import Clues
from grader.source import Source, Unit
from grader.source.analysis.triton import no_part_of

HOST = 1.3
"""Factor on the cost of a change in host code, where slips are rarer except in launches."""
ASIDE = 8.0
"""Factor on a line that doesn't contribute to one of several wrong results."""


NEXT_OF_A_PLACE, NEXT_OF_A_LINE = 0.06, 0.01
"""Additional share of the cost for each further change of an expression, and of a line, in Triton."""


def candidates(
    source: Source,
    program: Program,
    workload: str = "",
    most: int | None = None,
) -> list[Candidate]:
    """Return the small changes of a submission's kernels and of its host code, ordered by cost, then by place.

    With `workload`, only those that may matter there; at most `most` of them.
    """
    clues = Clues(program, workload)
    aside = no_part_of(source, clues.stored)
    weighed = [_weigh(*one, clues, aside) for one in changes(source, clues)]
    cuda = (one for one in weighed if isinstance(one.pieces[0].text, Unit))
    python = _spread(one for one in weighed if isinstance(one.pieces[0].text, Source))
    authors = (one for one in python if _is_authors(program, one.line))
    ordered = sorted((*cuda, *authors), key=lambda one: one.cost)
    return list(islice((one for one in ordered if one.fix() is not None), most))


def _weigh(scope: Changeable, one: Candidate, clues: Clues, aside: frozenset[int]) -> Candidate:
    """Return a change with its cost after evidence."""
    rarer = HOST if scope.on_host and one.touches != "launch" else 1.0
    rarer *= ASIDE if one.lines <= aside else 1.0
    cost = one.cost * clues.likelihood(one, _origins(scope, clues.lines)) * rarer
    return replace(one, cost=cost, unweighed=one.cost)


@lru_cache(maxsize=64)
def _origins(scope: Changeable, lines: frozenset[int]) -> frozenset[int]:
    """Return the lines that assign a name or array cell used on one of these lines."""
    place, named = scope.text.place, (one for one in scope.expressions if scope.tree.name(one))
    used = {scope.tree.name(one) for one in named if place(one).line in lines}
    made = [(one.name, one.value) for one in scope.given]
    return frozenset(place(value).line for name, value in (*made, *scope.stored) if name in used)


def _spread(changes: Iterable[Candidate]) -> Iterator[Candidate]:
    """Yield changes with costs that grow with the number of changes at a place and a line: a traced line has hundreds."""
    places: Counter[int] = Counter()
    lines: Counter[int] = Counter()
    for one in sorted(changes, key=lambda one: one.cost):
        at, line = one.pieces[0].span[0], one.line
        more = 1 + NEXT_OF_A_PLACE * places[at] + NEXT_OF_A_LINE * lines[line]
        places[at] += 1
        lines[line] += 1
        yield replace(one, cost=one.cost * more)


def _is_authors(program: Program, line: int) -> bool:
    """Whether a line is the author's, not part of the program added around an answer that is not Python."""
    return not program.submission.line_map or program.submission.sample_line(line) > 0
