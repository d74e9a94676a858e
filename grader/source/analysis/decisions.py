"""Whether a condition decides which result forward returns."""

import ast

from grader.source import dotted_name, nodes_under
from grader.source.analysis.data_flow import depends, parameters, tainted_names
from grader.source.python_code import Function, PythonCode

MACHINE = ("torch.", "os.", "sys.", "platform.", "shutil.")
"""Names about the machine, torch or folders, independent of the input."""


def decides_the_result(
    code: PythonCode, function: ast.AST, node: ast.If | ast.IfExp | ast.While
) -> bool:
    """Whether a condition chooses the result, not a message, a build or a log.

    The function must have an argument, and return one of several results of it.
    """
    if not isinstance(function, Function) or not parameters(function):
        return False
    returns = [one for one in nodes_under(function) if isinstance(one, ast.Return)]
    if isinstance(node, ast.IfExp):
        return _is_returned(code, node, returns)
    inside = {id(one) for one in nodes_under(node)}
    values = {
        there: {
            ast.dump(one.value)
            for one in returns
            if one.value is not None and (id(one) in inside) is there
        }
        for there in (True, False)
    }
    return bool(values[True]) and (len(values[True]) > 1 or values[True] != values[False])


def _is_returned(code: PythonCode, node: ast.IfExp, returns: list[ast.Return]) -> bool:
    """Whether a function returns a choice, directly or through a name."""
    around = set(code.ancestors(node))
    if any(one in around for one in returns):
        return True
    bound = {
        dotted_name(target)
        for one in around
        if isinstance(one, ast.Assign)
        for target in one.targets
    }
    read = {dotted_name(one) for back in returns for one in nodes_under(back)}
    return not bound.isdisjoint(read - {""})


def gives_nothing(code: PythonCode, function: ast.AST, node: ast.If) -> bool:
    """Whether a condition on a library or the machine, but no input or setting, skips the work."""
    if not isinstance(function, Function):
        return False
    given = set(parameters(function))
    names = {one.id for one in nodes_under(node.test) if isinstance(one, ast.Name)}
    asked = [
        code.canonical(one) for one in nodes_under(node.test) if isinstance(one, ast.Attribute)
    ]
    if names & (given | {"self"}) or not any(one.startswith(MACHINE) for one in asked):
        return False
    known = tainted_names(function, given, lambda _: False)
    values = [
        one.value
        for statement in node.body
        for one in nodes_under(statement)
        if isinstance(one, ast.Return) and isinstance(one.value, ast.Call)
    ]
    return any(not depends(value, known, lambda _: False) for value in values)
