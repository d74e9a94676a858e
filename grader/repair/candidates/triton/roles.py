"""Roles of expressions in a Triton program: a pointer, a mask, an initial value, the size of a block."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Literal

from grader.repair.candidates.triton.function import Function, called_name, names_in
from grader.source.analysis.triton import Kernel, launches
from grader.source.analysis.triton_lanes import constant

Role = Literal[
    "pointer", "stored", "mask", "other", "assigned", "start", "grid", "argument", "term", "operand", "block", "step", "whole", ""
]  # fmt: skip
"""`term`: of a sum of real numbers, or all of a value; `operand`: of `tl.dot`; `block`: the size of a block, on the host;
`step`: of one that loops or programs go on by, `whole`: of another."""


def roles_in(function: Function) -> Mapping[ast.expr, frozenset[str]]:
    """Return the roles of expressions."""
    found: dict[ast.expr, set[str]] = {}
    for node, role in _roles(function):
        if isinstance(node, ast.expr):
            found.setdefault(node, set()).add(role)
    return {node: frozenset(roles) for node, roles in found.items()}


def _roles(function: Function) -> Iterator[tuple[object, Role]]:
    for one in function.statements:
        if isinstance(one, ast.Assign | ast.AugAssign):
            yield one.value, "assigned" if constant(one.value) is None else "start"
            yield one.value, "term"
    for node in function.expressions:
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
            yield from ((part, "term") for part in (node.left, node.right))
        if isinstance(node, ast.Call):
            yield from _roles_of_arguments(node)
    for access in function.kernel.accesses if function.kernel else ():
        for name, role in (("pointer", "pointer"), ("value", "stored"), ("mask", "mask"), ("other", "other")):  # fmt: skip
            if name in access.arguments:
                yield access.arguments[name], role  # type: ignore[misc]
    yield from _roles_of_launches(function)


def _roles_of_arguments(call: ast.Call) -> Iterator[tuple[object, Role]]:
    name = called_name(call)
    if name in {"zeros", "full"}:
        yield (call.args[1], "start") if len(call.args) > 1 else (call, "start")
    if name == "dot":
        yield from ((part, "operand") for part in call.args[:2])


def _roles_of_launches(function: Function) -> Iterator[tuple[object, Role]]:
    for launch in launches(function.source):
        if launch.host is function.node:
            yield from ((one, "argument") for one in launch.call.args)
            grid = launch.grid.body if isinstance(launch.grid, ast.Lambda) else launch.grid
            parts = grid.elts if isinstance(grid, ast.Tuple) else ()
            yield from ((one, "grid") for one in parts)
            for name in launch.kernel.constants & set(launch.arguments):
                given = launch.arguments[name]
                words = function.source.text(given)
                made = function.host_values.get(words, ()) if isinstance(given, ast.Name) else ()
                role: Role = "step" if name in _steps(launch.kernel) else "whole"
                yield from ((one, part) for one in made or (given,) for part in ("block", role))


def _steps(kernel: Kernel) -> set[str]:
    """Return the steps of a kernel's loops or programs: lengths of blocks that need not cover a whole row."""
    found: set[str] = set()
    for one in ast.walk(kernel.node):
        if isinstance(one, ast.Call) and called_name(one) in {"range", "cdiv"}:
            found.update(name for part in one.args[1:] for name in names_in(part))
        elif isinstance(one, ast.BinOp) and isinstance(one.op, ast.Mult):
            found |= {side.id for side in (one.left, one.right) if isinstance(side, ast.Name)}
    return found
