"""Names that a program reads and no scope binds, and the cases where that is no error."""

import ast
import symtable
import warnings

from grader.source import Source, nodes_under
from grader.source.python_code import Function, PythonCode

MODULE_NAMES = {"__file__", "__name__", "__doc__", "__builtins__", "__spec__", "__loader__",
                "__package__", "__annotations__", "__path__", "__class__", "__module__",
                "__qualname__"}  # fmt: skip

BINDING = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.ClassDef)  # fmt: skip
"""Nodes with their own scope."""


def binds_unseen(code: PythonCode) -> bool:
    """Whether names may be bound invisibly: star imports, exec, globals()."""
    star = any(alias.name == "*" for node in code.of(ast.ImportFrom) for alias in node.names)
    return star or any(
        name in {"exec", "globals", "vars", "setattr"} and _touches_module(name, call)
        for name, call in code.calls
    )


def _touches_module(name: str, call: ast.Call) -> bool:
    if name == "setattr":
        return bool(call.args) and "modules" in ast.dump(call.args[0])
    return name in {"exec", "globals"} or not call.args


def unbound(source: Source, bound: set[str]) -> set[str]:
    """Return the names that some scope reads as global and that no scope binds globally."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            top = symtable.symtable(source.code, "submission", "exec")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return set()
    read: set[str] = set()
    todo = [top]
    while todo:
        table = todo.pop()
        todo += table.get_children()
        module = table.get_type() == "module"
        for symbol in table.get_symbols():
            name = symbol.get_name()
            binds = symbol.is_assigned() or symbol.is_imported() or symbol.is_namespace()
            # Python 3.12 has no symbol table of a comprehension: `:=` in one shows only in the module's
            binds = binds or (module and symbol.is_declared_global())
            if binds and (module or symbol.is_declared_global()):
                bound = bound | {name}
            if (module or symbol.is_global()) and symbol.is_referenced():
                read.add(name)
    return read - bound


def bound_around(code: PythonCode, node: ast.Name) -> bool:
    """Whether the name at this place is bound by a function, lambda, class or comprehension around it."""
    inner = (
        n for one in code.ancestors(node) if isinstance(one, BINDING) for n in nodes_under(one)
    )
    return any(
        (isinstance(n, ast.arg) and n.arg == node.id)
        or (isinstance(n, ast.Name) and n.id == node.id and isinstance(n.ctx, ast.Store))
        for n in inner
    )


def error_expected(code: PythonCode, node: ast.Name) -> bool:
    """Whether a NameError is expected there."""
    return any(
        isinstance(around, ast.Try)
        and any(
            handler.type is None
            or "Error" in ast.dump(handler.type)
            or "Exception" in ast.dump(handler.type)
            for handler in around.handlers
        )
        and any(node in nodes_under(statement) for statement in around.body)
        for around in code.ancestors(node)
    )


def never_evaluated(code: PythonCode, node: ast.Name) -> bool:
    """Whether annotations are not evaluated, and the name stands in one."""
    lazy = any(source.module == "__future__" for source in code.of(ast.ImportFrom))
    inner: ast.AST = node
    for around in code.ancestors(node):
        if isinstance(around, ast.arg | ast.AnnAssign) and around.annotation is inner:
            return lazy or (
                isinstance(around, ast.AnnAssign) and code.function_of(around) is not None
            )
        if isinstance(around, Function) and around.returns is inner:
            return lazy
        inner = around
    return False
