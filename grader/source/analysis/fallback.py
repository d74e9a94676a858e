"""Ways in which a failure of the custom code ends in a result that PyTorch computed."""

import ast
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from grader.source import Source, dotted_name, nodes_under
from grader.source.analysis.extension_use import (
    calls_builder,
    computes_with_torch,
    holders,
    mentions,
)
from grader.source.python_code import PythonCode

LEAVING = {"sys.exit", "exit", "quit", "os._exit"}


@dataclass(frozen=True)
class Fallback:
    """A handler that hides a failure, and the line where PyTorch computes instead."""

    handler: ast.ExceptHandler
    instead: ast.expr | ast.stmt
    building: bool
    """Whether the `try` is around the build; else it is around the call."""


def fallbacks(source: Source) -> tuple[Fallback, ...]:
    """Return the fallbacks of a submission; empty where it doesn't parse."""
    code = source.module
    if code.model is None:
        return ()
    names = holders(source, code)
    found = [*_around_calls(code, names), *_around_builds(source, code, names)]
    return tuple(found)


def _around_calls(code: PythonCode, names: set[str]) -> Iterator[Fallback]:
    """Find `try: return ext.f(x)` with a handler, or a sequel, that computes with PyTorch."""
    for node in code.of(ast.Try):
        called = any(mentions(one, names) for one in node.body)
        if called and code.runs_in_forward(node) and not _builds(code, node):
            for handler in node.handlers:
                instead = _torch_result(code, handler.body) or _sequel(code, node, names)
                if instead is not None and not _raises(handler):
                    yield Fallback(handler, instead, building=False)


def _around_builds(source: Source, code: PythonCode, names: set[str]) -> Iterator[Fallback]:
    """Find a build in `try` whose handler continues, with a branch of forward without the extension."""
    builders = {one.in_function for one in source.extensions if one.in_function}
    for node in code.of(ast.Try):
        handler = next((one for one in node.handlers if not _raises(one)), None)
        if handler is not None and _builds(code, node, builders):
            instead = _other_branch(code, names | _bound_in(node), names)
            if instead is not None:
                yield Fallback(handler, instead, building=True)


def _bound_in(node: ast.Try) -> set[str]:
    """Return the names and attributes that a `try` binds, in its body or where that fails."""
    parts = (inner for one in (*node.body, *node.handlers) for inner in nodes_under(one))
    targets = (one for one in parts if isinstance(one, ast.Name | ast.Attribute))
    return {dotted_name(one) for one in targets if isinstance(one.ctx, ast.Store)}


def _builds(code: PythonCode, node: ast.Try, builders: Collection[str] = ()) -> bool:
    """Whether an extension is built in the body of a `try`."""
    return any(calls_builder(code, one, builders) for one in node.body)


def _raises(handler: ast.ExceptHandler) -> bool:
    """Whether a handler always raises or exits."""
    last = handler.body[-1]
    call = last.value if isinstance(last, ast.Expr) else None
    leaves = isinstance(call, ast.Call) and dotted_name(call.func) in LEAVING
    return isinstance(last, ast.Raise) or leaves


def _torch_result(code: PythonCode, body: Sequence[ast.stmt]) -> ast.stmt | None:
    """Return the place where a block returns or assigns a result computed by PyTorch."""
    for node in (inner for one in body for inner in nodes_under(one)):
        if isinstance(node, ast.Return | ast.Assign) and node.value is not None:
            computed = any(computes_with_torch(code, node.value))
            operated = isinstance(node, ast.Return) and _operates(node.value)
            if computed or _reference_call(code, node.value) or operated:
                return node
    return None


def _operates(value: ast.AST) -> bool:
    """Whether an expression computes by Python's own operators, as tensors do: `a * s`."""
    operations = (node for node in nodes_under(value) if isinstance(node, ast.BinOp))
    return any(isinstance(one, ast.Name) for node in operations for one in nodes_under(node))


def _reference_call(code: PythonCode, value: ast.AST) -> bool:
    """Whether a fallback method of the model is called: `self._torch_forward(x)`."""
    calls = (node for node in nodes_under(value) if isinstance(node, ast.Call))
    owners = (dotted_name(call.func).partition(".") for call in calls)
    methods = (code.method(name) for owner, _, name in owners if owner == "self")
    return any(one is not None and any(computes_with_torch(code, one)) for one in methods)


def _sequel(code: PythonCode, node: ast.Try, names: set[str]) -> ast.stmt | None:
    """Return a PyTorch result after a `try` that returns on success."""
    if not any(isinstance(inner, ast.Return) for one in node.body for inner in nodes_under(one)):
        return None
    rest = [one for one in _statements_after(code, node) if not mentions(one, names)]
    return _torch_result(code, rest)


def _other_branch(code: PythonCode, bound: set[str], names: set[str]) -> ast.expr | ast.stmt | None:
    """Return where forward computes with PyTorch when the test for the extension fails."""
    flags = {
        dotted_name(target)
        for node in code.of(ast.Assign)
        for target in node.targets
        if mentions(node.value, bound)
    }
    for node in (inner for function in code.reached for inner in nodes_under(function)):
        if isinstance(node, ast.If) and mentions(node.test, bound | flags - {""}):
            for branch in (node.body, node.orelse or _statements_after(code, node)):
                found = _torch_result(code, branch)
                if found is not None and not any(mentions(one, names) for one in branch):
                    return found
        elif isinstance(node, ast.IfExp) and mentions(node.test, bound):
            for value in (node.body, node.orelse):
                if not mentions(value, names) and any(computes_with_torch(code, value)):
                    return value
    return None


def _statements_after(code: PythonCode, node: ast.stmt) -> Sequence[ast.stmt]:
    """Return the statements after a statement in its block."""
    for field in ("body", "orelse", "finalbody"):
        block = getattr(code.parents.get(node), field, None)
        if isinstance(block, list) and node in block:
            return block[block.index(node) + 1 :]
    return ()
