"""The small changes of a Triton program, the likeliest first: what evidence points at before what only might be."""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations, pairwise

from grader.records import Edit, Fix
from grader.repair.candidates.candidate import Candidate, Change, Touches
from grader.repair.candidates.evidence import Clues
from grader.repair.candidates.triton.behind import lines_behind
from grader.repair.candidates.triton.completed import complete_calls
from grader.repair.candidates.triton.lacking import brings_in, lacking
from grader.repair.candidates.triton.meaning import meaning
from grader.repair.candidates.triton.pattern import options
from grader.repair.candidates.triton.rewrites import REWRITES
from grader.repair.candidates.triton.scope import Scope, scopes
from grader.repair.candidates.triton.slip import Slip
from grader.repair.candidates.triton.twins import twins, unflattened
from grader.source import Source
from grader.source.analysis.triton import launches

MOST = 150
"""Changes of a Triton program that are tried."""
ROUND = 15
"""Changes of a Triton program that are run before the best are looked at: each compiles its own kernels."""
LONGER = 1.5
"""How many times as long a search may take as where all changes share one build."""
EXCHANGED = 0.6
"""Cost of two neighbouring arguments of a launch in the other order."""
IN_A_TUPLE = 1.0
"""Cost of two parts of a tuple in the other order: of a grid, a shape, the strides of a block."""
APART = 0.5
"""What each argument between them adds."""
NEXT_OF_A_PLACE, NEXT_OF_A_LINE = 0.06, 0.01
"""What each next change of an expression, and of a line, adds to the cost, as a share of it."""
LACKED = 0.4
"""What the cost of a change is multiplied with that brings in an operation which the task takes and the program lacks."""
APART_FROM_IT = 1.6
"""What the cost of a change is multiplied with where nothing that evidence names is made of it."""
TOGETHER = 0.4
"""What the same change at several places of a statement costs beyond the single one."""
HOST = 1.2
"""What the cost of a change of host code is multiplied with, where slips are rarer."""


def triton_changes(source: Source, clues: Clues, reference: str = "") -> Iterator[Candidate]:
    """Yield the changes of a Triton program's kernels and of what launches them, each text once.

    Where much may be changed, each change is the less likely: each next one of a place costs more, and of a line.
    """
    places: Counter[int] = Counter()
    lines: Counter[int] = Counter()
    for one in sorted(_weigh_changes(source, clues, reference), key=lambda one: one.cost):
        more = (
            1
            + NEXT_OF_A_PLACE * places[one.change.edits[0].start]
            + NEXT_OF_A_LINE * lines[one.line]
        )
        places[one.change.edits[0].start] += 1
        lines[one.line] += 1
        yield replace(one, cost=one.cost * more)


def _weigh_changes(source: Source, clues: Clues, reference: str) -> Iterator[Change]:
    lacks = lacking(reference, source.code)
    behind = lines_behind(source, clues.lines | clues.on_the_way)
    before = _origins(source, clues)
    for scope in scopes(source):
        if scope.kernel and clues.host_alone:
            continue
        every = (
            *_rewrite_expressions(scope),
            *_exchange_arguments(scope),
            *twins(scope),
            *complete_calls(scope),
        )
        single = _cheapest(scope, every)
        alone = ((one,) for one in single)
        for several in (*alone, *_together(scope, single), *unflattened(scope)):
            first = several[0]
            what: Touches = first.touches if scope.kernel or first.touches == "launch" else "host"
            likely = first.cost * clues.likelihood(what, first.node.lineno, before)
            likely += (
                TOGETHER
                if len({one.node for one in several}) > len({one.words for one in several})
                else 0.0
            )
            likely *= APART_FROM_IT if behind and first.node.lineno not in behind else 1.0
            likely *= LACKED if brings_in(source.text(first.node), first.words, lacks) else 1.0
            yield _change(source, several, likely * (HOST if what == "host" else 1.0), what)


def _change(source: Source, several: Sequence[Slip], cost: float, touches: Touches) -> Change:
    first = several[0]
    edits = tuple(_edit(source, one) for one in several)
    old = source.text(first.node)
    label = f"line {first.node.lineno}: `{first.words}` in the place of `{old}`"
    if first.after:
        label = f"add `{first.words}` after line {first.node.end_lineno}"
    alike = len(several) > 1 and len({one.words for one in several}) == 1
    label += f", all {len(several)} times" if alike else ""
    return Change((), cost, touches, Fix(label=label, edits=edits), first.node.lineno)


def _edit(source: Source, slip: Slip) -> Edit:
    start, end = source.span(slip.node)
    if slip.after:
        indent = " " * slip.node.col_offset
        return Edit(start=end, end=end, text=f"\n{indent}{slip.words}")
    return Edit(start=start, end=end, text=slip.words)


def _origins(source: Source, clues: Clues) -> frozenset[int]:
    """Return the lines that assign what a suspect line uses."""
    names = {n.id for n in source.walk(ast.Name) if n.lineno in clues.lines}
    stored = (n for n in source.walk(ast.Name) if isinstance(n.ctx, ast.Store) and n.id in names)
    return frozenset(node.lineno for node in stored) - clues.lines


def _cheapest(scope: Scope, slips: Sequence[Slip]) -> list[Slip]:
    """Return each change once, at the least of its costs, without those that change nothing."""
    found: dict[tuple[ast.AST, str], Slip] = {}
    for one in sorted(slips, key=lambda one: one.cost):
        statement = scope.statement_of(one.node)
        said = _after(scope, statement, one)
        if one.after or said != meaning(_head(scope, statement)):
            found.setdefault((statement, said), one)
    return list(found.values())


def _after(scope: Scope, statement: ast.AST, slip: Slip) -> str:
    """Return what a statement says after a change; what is put after it as it is."""
    if slip.after:
        return f"after: {slip.words}"
    (start, _), (a, b) = scope.source.span(statement), scope.source.span(slip.node)
    text = _head(scope, statement)
    return meaning(text[: a - start] + slip.words + text[b - start :])


def _head(scope: Scope, statement: ast.AST) -> str:
    """Return a statement's text, of a loop or a condition what it begins with."""
    start, end = scope.source.span(statement)
    body = getattr(statement, "body", None)
    return scope.source.code[start : scope.source.span(body[0])[0] if body else end]


def _rewrite_expressions(scope: Scope) -> Iterator[Slip]:
    for node in scope.expressions:
        for rewrite in REWRITES:
            for words, cost in options(scope, rewrite, node):
                way = (
                    rewrite.pattern
                    if rewrite.become == ("{a}",)
                    else f"{scope.source.text(node)} {words}"
                )
                yield Slip(node, words, cost, rewrite.touches, way=way)


def _together(scope: Scope, single: Sequence[Slip]) -> Iterator[tuple[Slip, ...]]:
    """Yield the same change at several places of a statement as one."""
    shared: dict[tuple[str, ast.AST], list[Slip]] = defaultdict(list)
    for one in single:
        if one.way:
            shared[one.way, scope.statement_of(one.node)].append(one)
    yield from (
        tuple(alike) for alike in shared.values() if len(alike) > 1 and _apart(scope, alike)
    )


def _apart(scope: Scope, alike: Sequence[Slip]) -> bool:
    spans = sorted(scope.source.span(one.node) for one in alike)
    return all(first[1] <= second[0] for first, second in pairwise(spans))


def _exchange_arguments(scope: Scope) -> Iterator[Slip]:
    """Yield launches with two tensors, or two numbers, in the other order, and tuples with two of their parts so."""
    for launch in launches(scope.source):
        if launch.host is scope.node:
            kinds = [scope.kind_of(one) or type(one).__name__ for one in launch.call.args]
            yield from _pairs(scope, launch.call, launch.call.args, kinds, EXCHANGED, "launch")
    targets = (
        target for one in scope.statements if isinstance(one, ast.Assign) for target in one.targets
    )
    for node in (*scope.expressions, *targets):
        if isinstance(node, ast.Tuple):
            touches: Touches = "launch" if scope.kernel is None else "index"
            yield from _pairs(scope, node, node.elts, [""] * len(node.elts), IN_A_TUPLE, touches)


def _pairs(
    scope: Scope,
    node: ast.expr,
    parts: Sequence[ast.expr],
    kinds: Sequence[str],
    cost: float,
    touches: Touches,
) -> Iterator[Slip]:
    every = list(zip(range(len(parts)), parts, kinds, strict=False))
    for (at, first, kind), (then, second, other) in combinations(every, 2):
        if kind == other and scope.source.text(first) != scope.source.text(second):
            words = _both(scope, node, first, second)
            yield Slip(node, words, cost + APART * (then - at - 1), touches)


def _both(scope: Scope, around: ast.expr, first: ast.expr, second: ast.expr) -> str:
    """Return an expression with two of its parts exchanged."""
    start, end = scope.source.span(around)
    (a, b), (c, d) = scope.source.span(first), scope.source.span(second)
    code = scope.source.code
    return code[start:a] + code[c:d] + code[b:c] + code[a:b] + code[d:end]
