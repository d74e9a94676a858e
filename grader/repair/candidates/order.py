"""All small changes of a program, the likeliest first: what evidence points at before what only might be."""

from __future__ import annotations

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
"""What the cost of a change is multiplied with in host code, where slips are rarer but for those of launches."""
ASIDE = 8.0
"""The same on a line that has no part in one of several wrong results."""


def candidates(
    source: Source,
    program: Program,
    workload: str = "",
    most: int | None = None,
) -> list[Candidate]:
    """Return the small changes of a submission's kernels and of its host code, ordered by cost, then by place.

    Only those that may matter on `workload`, where one is named, and `most` of them at most.
    """
    clues = Clues(program, workload)
    aside = no_part_of(source, clues.stored)
    weighed = [_weigh(*one, clues, aside) for one in changes(source, clues)]
    ordered = sorted(
        (one for one in weighed if _is_authors(program, one)), key=lambda one: one.cost
    )
    return list(islice((one for one in ordered if one.fix() is not None), most))


def _weigh(scope: Changeable, one: Candidate, clues: Clues, aside: frozenset[int]) -> Candidate:
    """Return a change with what evidence makes of its cost."""
    rarer = HOST if scope.on_host and one.touches != "launch" else 1.0
    rarer *= ASIDE if one.lines <= aside else 1.0
    cost = one.cost * clues.likelihood(one, _origins(scope, clues.lines)) * rarer
    return replace(one, cost=cost, unweighed=one.cost)


@lru_cache(maxsize=64)
def _origins(scope: Changeable, lines: frozenset[int]) -> frozenset[int]:
    """Return the lines that give a name its value which one of these lines uses."""
    place, named = scope.text.place, (one for one in scope.expressions if scope.tree.name(one))
    used = {scope.tree.name(one) for one in named if place(one).line in lines}
    return frozenset(place(one.value).line for one in scope.given if one.name in used)


def _is_authors(program: Program, one: Candidate) -> bool:
    """Whether a line of Python is the author's, and not put around an answer that is no Python."""
    known = isinstance(one.pieces[0].text, Unit) or not program.submission.line_map
    return known or program.submission.sample_line(one.line) > 0
