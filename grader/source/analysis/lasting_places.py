"""Where a value outlives the call that stored it: attributes, globals, the module's containers."""

import ast

from grader.source import nodes_under
from grader.source.python_code import Function, PythonCode


def place_of(lasting: set[str], target: ast.AST) -> str:
    """Return the target of a store that outlives the call: `self.cache`, or a global's name."""
    while isinstance(target, ast.Subscript):
        target = target.value
    match target:
        case ast.Attribute(value=ast.Name(id=("self" | "cls" | "ModelNew")), attr=name):
            return f"self.{name}"
        case ast.Name(id=name) if name in lasting:
            return name
        case _:
            return ""


def lasting_names(code: PythonCode, function: Function) -> set[str]:
    """Return the names that outlive a function's calls: globals, the module's containers."""
    declared = {
        name
        for node in nodes_under(function)
        if isinstance(node, ast.Global)
        for name in node.names
    }
    rebound = {
        node.id
        for node in nodes_under(function)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
    containers = {
        target.id
        for node in code.tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Dict | ast.List | ast.Call)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    return declared | (containers - rebound)


def read_purely(lasting: set[str], expression: ast.AST, places: set[str]) -> str | None:
    """Return the lasting place that an expression reads, if it does nothing else."""
    here = expression
    while True:
        match here:
            case ast.Subscript(value=inner):
                here = inner
            case ast.Call(
                func=ast.Attribute(value=inner, attr=("get" | "clone" | "detach" | "view"))
            ):
                here = inner
            case _:
                break
    place = place_of(lasting, here)
    return place if place in places else None


def surely_before(code: PythonCode, store: ast.stmt, at: ast.stmt) -> bool:
    """Whether a store surely runs before a statement, being earlier in an enclosing block."""
    block_owner = code.parents.get(store)
    around = {at, *code.ancestors(at)}
    for field in ("body", "orelse", "finalbody"):
        block = getattr(block_owner, field, None)
        if isinstance(block, list) and store in block:
            later = block[block.index(store) + 1 :]
            return any(one in around for one in later)
    return False
