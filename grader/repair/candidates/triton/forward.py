"""`ModelNew.forward` around the kernels of a CUDA program: what it hands to them."""

from __future__ import annotations

import ast

from grader.repair.candidates.candidate import Candidate
from grader.repair.candidates.triton.function import Function
from grader.source import Source, dotted_name, edits, nodes_under, parse


def forward_of(source: Source) -> ast.FunctionDef | None:
    """Return the method of a program's model; None where it needs its class around it."""
    forward = source.module.method("forward") if source.module is not None else None
    names = {n.id for n in nodes_under(forward) if isinstance(n, ast.Name)} if forward else set()
    plain = isinstance(forward, ast.FunctionDef) and not names & {"super", "__class__"}
    return forward if plain else None  # type: ignore[return-value]


def forward_with(source: Source, one: Candidate) -> ast.FunctionDef | None:
    """Return the method as it is with a change; None where it is no Python then."""
    fix = one.fix()
    return forward_of(parse(edits.apply(source.code, fix.edits))) if fix is not None else None


def extension_calls(function: Function) -> tuple[ast.Call, ...]:
    """Return the calls of `forward` that go to an extension's function, as far as their names tell."""
    if function.node is not forward_of(function.source):
        return ()
    calls = (one for one in function.expressions if isinstance(one, ast.Call))
    return tuple(one for one in calls if one.args and _is_extensions(function, one))


def _is_extensions(function: Function, call: ast.Call) -> bool:
    name, code = dotted_name(call.func), function.source.module
    if not name or code is None or code.canonical(call.func).startswith("torch."):
        return False
    made = (one for one in code.of(ast.Assign) if isinstance(one.value, ast.Call))
    layers = {dotted_name(to) for one in made if code.canonical(one.value.func).startswith("torch.nn.") for to in one.targets}  # type: ignore[attr-defined] # fmt: skip
    return name not in layers and name.partition(".")[0] not in function.names - {"self"}
