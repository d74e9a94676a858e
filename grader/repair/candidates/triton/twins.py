"""What a statement's neighbours show: `iw` is made as `ih` is, and a sum is rescaled where the one beside it is.

Programs for blocks say much twice: for rows and columns, for two operands, for a sum and a maximum. Where one of the two
differs, it may have been meant to be as the other.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Iterator, Mapping
from itertools import pairwise, permutations

from grader.repair.candidates.candidate import Candidate
from grader.repair.candidates.letters import (
    WORD,
    Letters,
    as_twin,
    axes,
    difference,
    rename_twins,
    twin_of,
)
from grader.repair.candidates.triton.function import names_in, target_of
from grader.repair.candidates.triton.scope import Scope
from grader.repair.candidates.triton.tree import ATOMS, is_loose

AS_TWIN, MISSING, AS_NEIGHBOUR = 0.7, 0.9, 0.9
"""Costs: a value made as its twin's, a statement that only the twin has, a step that a statement of the same form has."""
Simple = ast.Assign | ast.AugAssign


def twins(scope: Scope) -> Iterator[Candidate]:
    """Yield what a function's statements would be if they were as their neighbours."""
    own = [node for node in scope.statements if isinstance(node, Simple) and target_of(node)]
    for one, other in permutations(own, 2):
        yield from _as_twin(scope, one, other)
        yield from _as_neighbour(scope, one, other)
    yield from _missing_updates(scope, own)


def _as_twin(scope: Scope, one: Simple, other: Simple) -> Iterator[Candidate]:
    """Yield the value of a statement as that of its twin, by the names that go with its own."""
    pairs = ((target_of(node), scope.source.text(node.value)) for node in (one, other))
    words = as_twin(scope.names, *pairs) if type(one) is type(other) else ""
    if words:
        yield scope.change(other.value, words, AS_TWIN, scope.touched(other.value))


def _missing_updates(scope: Scope, own: list[Simple]) -> Iterator[Candidate]:
    """Yield updates that only one of two twins has: a pointer that is moved on, a sum that is rescaled."""
    done = {(target_of(one), scope.block_of(one)) for one in own}
    for one in own:
        name = target_of(one)
        if name not in names_in(one.value) and not isinstance(one, ast.AugAssign):
            continue
        for twin in scope.names:
            letters = difference(name, twin)
            if letters and (twin, scope.block_of(one)) not in done:
                words = rename_twins(scope.names, scope.source.text(one), letters)
                if twin in words:
                    yield scope.change(one, words, MISSING, "index", "after")


def unflattened(scope: Scope) -> Iterator[Candidate]:
    """Yield neighbouring statements with two axes in each other's place: an index that is taken apart in another order."""
    own = [node for node in scope.statements if isinstance(node, Simple) and target_of(node)]
    for one, other in pairwise(own):
        for letters in axes(scope.names):
            words = [scope.source.text(node) for node in (one, other)]
            turned = [_exchange_axes(scope, text, letters) for text in words]
            if (
                letters < letters[::-1]
                and all(map(operator.ne, words, turned))
                and _divides(one, other)
            ):
                yield scope.changes(AS_TWIN, "index", (one, turned[0]), (other, turned[1]))
        yield from _exchanged(scope, one, other)


def _exchanged(scope: Scope, one: Simple, other: Simple) -> Iterator[Candidate]:
    """Yield a quotient and a rest of the same in each other's place."""
    match one.value, other.value:
        case ast.BinOp(left=a, op=first), ast.BinOp(left=b, op=then) if ast.dump(a) == ast.dump(b):
            if {type(first), type(then)} == {ast.FloorDiv, ast.Mod}:
                yield scope.exchange(one.value, other.value, AS_TWIN, "index")


def _divides(*nodes: ast.AST) -> bool:
    return any(
        isinstance(part, ast.FloorDiv | ast.Mod) for node in nodes for part in ast.walk(node)
    )


def _exchange_axes(scope: Scope, words: str, letters: Letters) -> str:
    """Return a text with each name of two axes in the other's place."""
    return WORD.sub(lambda word: _other(scope, word[0], letters), words)


def _other(scope: Scope, name: str, letters: Letters) -> str:
    there = twin_of(scope.names, name, letters)
    return there if there != name else twin_of(scope.names, name, letters[::-1])


def _as_neighbour(scope: Scope, one: Simple, other: Simple) -> Iterator[Candidate]:
    """Yield a statement with the step that one of the same form has, or without the step that that one lacks."""
    if isinstance(one.value, ATOMS[:2]):
        return
    meant = {target_of(one): target_of(other)}
    if type(one.value) is not type(other.value):
        if _beside(scope, one, other) and _same(
            getattr(one.value, "left", one.value), other.value, meant
        ):
            yield from _with_step(scope, one.value, other.value, meant)
        return
    apart = list(_differences(one.value, other.value, meant))
    if len(apart) > 2 or any(there is one.value for there, _ in apart):
        return
    for there, here in apart:
        for core in ast.walk(there):
            if core is not there and isinstance(core, ast.expr) and _same(core, here, meant):
                yield from _with_step(scope, there, here, meant)
                break
        for core in ast.walk(here):
            if core is not here and isinstance(core, ast.expr) and _same(there, core, meant):
                yield scope.change(
                    here, _in_place(scope.source.text(core)), AS_NEIGHBOUR, scope.touched(here)
                )
                break


def _beside(scope: Scope, one: Simple, other: Simple) -> bool:
    return abs(scope.statements.index(one) - scope.statements.index(other)) == 1


def _with_step(
    scope: Scope, there: ast.expr, here: ast.expr, meant: Mapping[str, str]
) -> Iterator[Candidate]:
    words = WORD.sub(lambda w: meant.get(w[0], w[0]), scope.source.text(there))
    yield scope.change(here, _in_place(words), AS_NEIGHBOUR, scope.touched(here))
    for name in names_in(there) - set(meant):
        if name in scope.known.get("REAL", ()):
            wide = re.sub(rf"\b{name}\b(?!\[)", f"{name}[:, None]", words)
            yield scope.change(here, _in_place(wide), AS_NEIGHBOUR + 0.1, scope.touched(here))


def _in_place(words: str) -> str:
    return f"({words})" if is_loose(words) else words


def _same(one: ast.expr, other: ast.expr, meant: dict[str, str]) -> bool:
    """Whether two expressions have one form and names that may go together; what goes together is kept."""
    tried = dict(meant)
    if any(True for _ in _differences(one, other, tried)):
        return False
    if any(meant.get(name, value) != value for name, value in tried.items()):
        return False
    meant.update(tried)
    return True


def _differences(
    one: ast.AST, other: ast.AST, meant: dict[str, str]
) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Yield the least parts in which two expressions differ, names left aside; `meant` takes which name goes with which."""
    if not (isinstance(one, ast.expr) and isinstance(other, ast.expr)):
        return
    if isinstance(one, ast.Name) and isinstance(other, ast.Name):
        if meant.setdefault(one.id, other.id) != other.id:
            yield one, other
        return
    if _head(one) != _head(other):
        yield one, other
        return
    for first, second in zip(_parts(one), _parts(other), strict=True):
        yield from _differences(first, second, meant)


def _head(node: ast.expr) -> tuple[object, ...]:
    """Return what two expressions of the same form have in common beside their parts."""
    if isinstance(node, ast.Call):
        return ast.Call, ast.unparse(node.func), len(_parts(node))
    if isinstance(node, ast.Constant):
        return ast.Constant, node.value
    named = getattr(node, "op", None) or getattr(node, "attr", None)
    return type(node), named if isinstance(named, str) else type(named), len(_parts(node))


def _parts(node: ast.expr) -> list[ast.expr]:
    if isinstance(node, ast.Call):
        return [*node.args, *(word.value for word in node.keywords)]
    return [part for part in ast.iter_child_nodes(node) if isinstance(part, ast.expr)]
