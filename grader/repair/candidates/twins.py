"""Candidates from similar statements nearby: `iw` is defined like `ih`, and a sum is rescaled like the one beside it.

Kernels repeat much: for rows and columns, for two operands, for a sum and a maximum. If the two differ, one may have to
be like the other.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations
from typing import Any

from grader.repair.candidates.candidate import Candidate
from grader.repair.candidates.changeable import Changeable, Given
from grader.repair.candidates.letters import WORD, as_twin, difference, rename_twins
from grader.repair.candidates.pattern import Tree

AS_TWIN, MISSING, AS_NEIGHBOUR = 0.7, 0.9, 0.9
"""Costs: a value made as its twin's, an update that only the twin has, a step that a statement of the same form has."""
FEW = 2
"""Places at which two statements of the same form may differ."""
NEAR = 16
"""Most statements between them."""


def twins(scope: Changeable) -> Iterator[Candidate]:
    """Yield a function's statements rewritten like their neighbours."""
    for (at, one), (then, other) in permutations(enumerate(scope.given), 2):
        if type(one.statement) is type(other.statement):
            pairs = ((each.name, scope.old(each.value)) for each in (one, other))
            if words := as_twin(scope.names, *pairs):
                yield scope.change(other.value, words, AS_TWIN, scope.touches_of(other.value))
        if abs(at - then) <= NEAR:
            yield from _as_neighbour(scope, one, other, beside=abs(at - then) == 1)
    yield from _missing_updates(scope)


def _missing_updates(scope: Changeable) -> Iterator[Candidate]:
    """Yield updates that only one of two twins has: an advanced pointer, a rescaled sum."""
    done = {one.name for one in scope.given if one.updates}
    for one in (one for one in scope.given if one.updates and scope.fits(one.value, one.value)):
        for twin in scope.names - done:
            letters = difference(one.name, twin)
            words = rename_twins(scope.names, scope.old(one.statement), letters) if letters else ""
            if twin in words:
                yield scope.change(one.statement, words, MISSING, "index", scope.beside)


def _as_neighbour(
    scope: Changeable, one: Given, other: Given, *, beside: bool
) -> Iterator[Candidate]:
    """Yield a value with the step that one of the same form has, or without the step that that one lacks.

    Of another form altogether it may be where it stands beside that one.
    """
    tree, meant = scope.tree, {one.name: other.name}
    apart = list(_differences(tree, one.value, other.value, meant))
    whole = bool(apart) and apart[0][0] is one.value
    if len(apart) > FEW or not tree.parts(one.value) or (whole and not beside):
        return
    for there, here in (pair for pair in apart if scope.fits(*pair)):
        if _holds(tree, there, here, meant):
            words = WORD.sub(lambda word: meant.get(word[0], word[0]), scope.old(there))
            for step in scope.variants(words):
                new = scope.in_place(here, step)
                yield scope.change(here, new, AS_NEIGHBOUR, scope.touches_of(here))
        for core in _within(tree, here):
            if _have_same_form(tree, there, core, meant):
                words = scope.in_place(here, scope.old(core))
                yield scope.change(here, words, AS_NEIGHBOUR, scope.touches_of(here))
                break


def _holds(tree: Tree, outer: Any, inner: Any, meant: dict[str, str]) -> bool:
    """Whether a part of an expression is as another one."""
    return any(_have_same_form(tree, core, inner, meant) for core in _within(tree, outer))


def _within(tree: Tree, node: Any) -> Iterator[Any]:
    """Yield the expressions in another one."""
    for part in tree.parts(node):
        if tree.may_be("x", part):
            yield part
        yield from _within(tree, part)


def _have_same_form(tree: Tree, one: Any, other: Any, meant: dict[str, str]) -> bool:
    """Whether two expressions have one form and matching names, whose pairs are recorded."""
    tried = dict(meant)
    if any(True for _ in _differences(tree, one, other, tried)):
        return False
    if any(meant.get(name, value) != value for name, value in tried.items()):
        return False
    meant.update(tried)
    return True


def _differences(tree: Tree, one: Any, other: Any, meant: dict[str, str]) -> Iterator[tuple[Any, Any]]:  # fmt: skip
    """Yield the smallest differing subexpressions, ignoring names; `meant` collects the pairs of names."""
    names = tree.name(one), tree.name(other)
    if all(names):
        if meant.setdefault(*names) != names[1]:
            yield one, other
        return
    parts = tree.parts(one), tree.parts(other)
    alike = _form(tree, one) == _form(tree, other) and len(parts[0]) == len(parts[1])
    for pair in zip(*parts, strict=True) if alike else ():
        yield from _differences(tree, *pair, meant)
    if not alike:
        yield one, other


def _form(tree: Tree, node: Any) -> tuple[object, ...]:
    return tree.head(node), tree.sign(node)
