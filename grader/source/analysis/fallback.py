"""Ways in which a failure of the custom code ends in a result that PyTorch computed."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from grader.source import Source, dotted_name, nodes_under
from grader.source.analysis.extension_use import computes_with_torch, holders, mentions
from grader.source.python_code import PythonCode


@dataclass(frozen=True)
class Fallback:
    """One handler that swallows a failure, and the line that PyTorch computes at instead."""

    handler: ast.ExceptHandler
    instead: ast.expr | ast.stmt
    building: bool
    """Whether the build is tried; else the call."""


def fallbacks(source: Source) -> tuple[Fallback, ...]:
    """Return the fallbacks of a submission; empty where it doesn't parse."""
    code = source.module
    if code is None or code.model is None:
        return ()
    names = holders(source, code)
    found = [*_around_calls(code, names), *_around_builds(source, code, names)]
    return tuple(found)


def _around_calls(code: PythonCode, names: set[str]) -> Iterator[Fallback]:
    """Find `try: return ext.f(x)` with a handler, or a sequel, that computes with PyTorch."""
    for node in code.of(ast.Try):
        if not code.runs_in_forward(node) or not any(mentions(one, names) for one in node.body):
            continue
        if any(_builds(code, statement) for statement in node.body):
            continue
        for handler in node.handlers:
            if _raises(handler):
                continue
            instead = _torch_result(code, handler.body) or _sequel(code, node, names)
            if instead is not None:
                yield Fallback(handler, instead, building=False)


def _around_builds(source: Source, code: PythonCode, names: set[str]) -> Iterator[Fallback]:
    """Find a build in `try` whose handler goes on, with a branch of forward that does without."""
    for node in code.of(ast.Try):
        if not any(_builds(code, one) or _calls_builder(source, one) for one in node.body):
            continue
        bound = names | {
            inner.id for one in (*node.body, *node.handlers) for inner in nodes_under(one)
            if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store)
        } | {
            f"self.{inner.attr}" for one in (*node.body, *node.handlers)
            for inner in nodes_under(one)
            if isinstance(inner, ast.Attribute) and isinstance(inner.ctx, ast.Store)
        }  # fmt: skip
        for handler in node.handlers:
            if _raises(handler):
                continue
            instead = _other_branch(code, bound, names)
            if instead is not None:
                yield Fallback(handler, instead, building=True)
                break


def _builds(code: PythonCode, statement: ast.stmt) -> bool:
    return any(
        isinstance(node, ast.Call)
        and code.canonical(node.func).rsplit(".", 1)[-1] in {"load_inline", "load"}
        for node in nodes_under(statement)
    )


def _calls_builder(source: Source, statement: ast.stmt) -> bool:
    """Whether a statement calls a function of the file that builds the extension."""
    builders = {one.in_function for one in source.extensions if one.in_function}
    return any(
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name | ast.Attribute)
        and (node.func.id if isinstance(node.func, ast.Name) else node.func.attr) in builders
        for node in nodes_under(statement)
    )


def _raises(handler: ast.ExceptHandler) -> bool:
    """Whether a handler always ends in an exception or in leaving the program."""
    last = handler.body[-1]
    if isinstance(last, ast.Raise):
        return True
    return (
        isinstance(last, ast.Expr)
        and isinstance(last.value, ast.Call)
        and dotted_name(last.value.func) in {"sys.exit", "exit", "quit", "os._exit"}
    )


def _torch_result(code: PythonCode, body: list[ast.stmt]) -> ast.expr | ast.stmt | None:
    """Return where a block returns or assigns something that PyTorch computed."""
    for statement in body:
        for node in nodes_under(statement):
            if isinstance(node, ast.Return | ast.Assign) and node.value is not None:
                if next(computes_with_torch(code, node.value), None) is not None:
                    return node
                if _reference_call(code, node.value):
                    return node
            if isinstance(node, ast.Return) and node.value is not None and _operates(node.value):
                return node
    return None


def _operates(value: ast.AST) -> bool:
    """Whether an expression computes by Python's own operators, as tensors do: `a * s`."""
    return any(
        isinstance(node, ast.BinOp) and any(isinstance(one, ast.Name) for one in nodes_under(node))
        for node in nodes_under(value)
    )


def _reference_call(code: PythonCode, value: ast.AST) -> bool:
    """Whether a fallback method of the model is called: `self._torch_forward(x)`."""
    return any(
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == "self"
        and (method := code.method(node.func.attr)) is not None
        and next(computes_with_torch(code, method), None) is not None
        for node in nodes_under(value)
    )


def _sequel(code: PythonCode, node: ast.Try, names: set[str]) -> ast.expr | ast.stmt | None:
    """Return a PyTorch result in the statements that follow a `try` which returned on success."""
    if not any(isinstance(inner, ast.Return) for one in node.body for inner in nodes_under(one)):
        return None
    parent = code.parents.get(node)
    for field in ("body", "orelse", "finalbody"):
        block = getattr(parent, field, None)
        if isinstance(block, list) and node in block:
            rest = [one for one in block[block.index(node) + 1 :] if not mentions(one, names)]
            return _torch_result(code, rest)
    return None


def _other_branch(code: PythonCode, bound: set[str], names: set[str]) -> ast.expr | ast.stmt | None:
    """Return where forward computes with PyTorch when the test for the extension fails."""
    for function in code.reached:
        for node in nodes_under(function):
            if isinstance(node, ast.If) and mentions(node.test, bound | _flags(code, bound)):
                branches = [node.body, node.orelse or _after(code, node)]
                for branch in branches:
                    if not any(mentions(one, names) for one in branch):
                        found = _torch_result(code, branch)
                        if found is not None:
                            return found
            elif isinstance(node, ast.IfExp) and mentions(node.test, bound):
                for value in (node.body, node.orelse):
                    if not mentions(value, names) and next(computes_with_torch(code, value), None):
                        return value
    return None


def _flags(code: PythonCode, bound: set[str]) -> set[str]:
    """Return what is computed from the bound names: `use_cuda = ext is not None`."""
    found: set[str] = set()
    for node in code.of(ast.Assign):
        if mentions(node.value, bound):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    found.add(target.id)
                elif isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name):
                    found.add(f"{target.value.id}.{target.attr}")
    return found


def _after(code: PythonCode, node: ast.stmt) -> list[ast.stmt]:
    parent = code.parents.get(node)
    for field in ("body", "orelse", "finalbody"):
        block = getattr(parent, field, None)
        if isinstance(block, list) and node in block:
            return list(block[block.index(node) + 1 :])
    return []
