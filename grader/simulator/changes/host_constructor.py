"""What a constructor could keep instead: of another size that it is given, a quotient of two, or what is given and read nowhere."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from grader.simulator.changes.host_names import OWN, alike_names

CONSTRUCTOR = "__init__"
MOST = 6
"""Arguments that are taken for one another."""
MODULES = frozenset({"nn", "super"})
"""Whose calls make a layer: no number that could have one step more."""


def is_in_constructor(statement: ast.stmt, line: int) -> bool:
    """Whether a line of a class is one of its constructor's."""
    made = (one for one in ast.walk(statement) if isinstance(one, ast.FunctionDef))
    return any(one.name == CONSTRUCTOR and one.lineno <= line <= (one.end_lineno or 0) for one in made)  # fmt: skip


def is_module_made(statement: ast.stmt) -> bool:
    """Whether a statement makes a layer, or calls the constructor of the class above."""
    value = getattr(statement, "value", None)
    names = [one.id for one in ast.walk(value.func) if isinstance(one, ast.Name)] if isinstance(value, ast.Call) else []  # fmt: skip
    return not MODULES.isdisjoint(names)


def constructor_names(function: ast.FunctionDef) -> Mapping[str, Sequence[str]]:
    """Return for each argument what could be meant: another one, where it is given; a quotient with another one."""
    every = [one.arg for one in (*function.args.args, *function.args.kwonlyargs)]
    given = [one for one in every if one not in OWN][:MOST]
    left_open = _left_open(function)
    found: dict[str, Sequence[str]] = dict(alike_names(function))
    for name in given:
        others = [one for one in given if one != name]
        quotients = [f"({a} // {b})" for one in others for a, b in ((name, one), (one, name))]
        found[name] = [
            *(f"({one} if {one} is not None else {name})" for one in others if one in left_open),
            *(one for one in others if one not in left_open),
            *quotients,
        ]
    return found


def _left_open(function: ast.FunctionDef) -> frozenset[str]:
    """Return the arguments that are None unless they are given."""
    plain = function.args.args[len(function.args.args) - len(function.args.defaults) :]
    pairs = [*zip(plain, function.args.defaults, strict=True), *zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True)]  # fmt: skip
    return frozenset(one.arg for one, value in pairs if isinstance(value, ast.Constant) and value.value is None)  # fmt: skip
