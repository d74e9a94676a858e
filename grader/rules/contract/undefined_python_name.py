"""EXT003: a Python name that nothing defines."""

from __future__ import annotations

import ast
import builtins
import symtable
import warnings
from typing import TYPE_CHECKING

from grader.records import Edit, Finding, Fix
from grader.rules.build.messages import confirming
from grader.rules.contract.named_anew import undefined
from grader.rules.contract.signature_mismatch import reference_parameters
from grader.rules.mending import fix, insert_line_before
from grader.rules.python_code import Function, PythonCode, python_code
from grader.rules.rule import Context, Rule
from grader.source import nodes_under

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from grader.source import Source

MODULE_NAMES = {"__file__", "__name__", "__doc__", "__builtins__", "__spec__", "__loader__",
                "__package__", "__annotations__", "__path__", "__class__", "__module__",
                "__qualname__"}  # fmt: skip
INPUT_FUNCTIONS = {"get_inputs", "get_init_inputs", "get_test_inputs"}


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Look up every global name that the program reads among those that it binds."""
    code = python_code(source)
    if code is None or _binds_unseen(code):
        return
    bound = set(dir(builtins)) | MODULE_NAMES
    undefined = _undefined(source, bound)
    if not undefined:
        yield from _too_early(source, code)
        return
    constants = _reference_constants(context)
    missing: dict[str, list[ast.Name]] = {}
    for node in code.of(ast.Name):
        if node.id not in undefined or not isinstance(node.ctx, ast.Load):
            continue
        if _local(code, node) or _handled(code, node) or code.in_main_guard(node):
            continue
        if _annotation(code, node) or node.id in {one.id for group in missing.values()
                                                  for one in group}:  # fmt: skip
            continue
        missing.setdefault(_owner(code, node), []).append(node)
    for nodes in missing.values():
        yield _finding(source, code, nodes, constants, context)
    yield from _too_early(source, code)


def _owner(code: PythonCode, node: ast.Name) -> str:
    function = code.function_of(node)
    return function.name if function is not None else ""


def _finding(
    source: Source,
    code: PythonCode,
    nodes: list[ast.Name],
    constants: Mapping[str, str],
    context: Context,
) -> Finding:
    function = code.function_of(nodes[0])
    where = _owner(code, nodes[0])
    names = [node.id for node in nodes]
    for_inputs = where in INPUT_FUNCTIONS
    evidence = confirming(context, ("python-name",), names, run=True)
    what = f"when {where} is called" if where else "as soon as the file is imported"
    listed = " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
    verb = "is" if len(names) == 1 else "are"
    message = f"{listed} {verb} not defined anywhere in the file: NameError {what}"
    if for_inputs and context.task is not None:
        message += "; the task makes its own inputs, so it does not decide here"
    fixes = _copy(source, code, nodes, constants)
    if not fixes and not for_inputs:
        fixes = tuple(undefined(source, code, nodes, reference_parameters(context, where)))
    return RULE.finding(
        source.place(nodes[0]),
        message,
        severity="warning" if for_inputs and context.task is not None and not evidence else "error",
        confidence="proven" if evidence else "likely",
        evidence=evidence,
        fixes=fixes or (_drop_inputs(source, code, function) if for_inputs else ()),
        data={"names": names, "function": where},
    )


def _binds_unseen(code: PythonCode) -> bool:
    """Whether names may come from where no tree shows: star imports, exec, globals()."""
    star = any(alias.name == "*" for node in code.of(ast.ImportFrom) for alias in node.names)
    return star or any(
        name in {"exec", "globals", "vars", "setattr"} and _touches_module(name, call)
        for name, call in code.calls
    )


def _touches_module(name: str, call: ast.Call) -> bool:
    if name == "setattr":
        return bool(call.args) and "modules" in ast.dump(call.args[0])
    return name in {"exec", "globals"} or not call.args


def _undefined(source: Source, bound: set[str]) -> set[str]:
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
            if binds and (module or symbol.is_declared_global()):
                bound = bound | {name}
            if (module or symbol.is_global()) and symbol.is_referenced():
                read.add(name)
    return read - bound


def _local(code: PythonCode, node: ast.Name) -> bool:
    """Whether the name at this place is bound by a function, lambda or comprehension around it."""
    for around in code.ancestors(node):
        if isinstance(around, Function | ast.Lambda):
            names = [
                argument.arg
                for argument in nodes_under(around.args)
                if isinstance(argument, ast.arg)
            ]
            if node.id in names:
                return True
        if isinstance(
            around,
            Function
            | ast.Lambda
            | ast.ListComp
            | ast.SetComp
            | ast.DictComp
            | ast.GeneratorExp
            | ast.ClassDef,
        ) and any(
            isinstance(inner, ast.Name) and inner.id == node.id and isinstance(inner.ctx, ast.Store)
            for inner in nodes_under(around)
        ):
            return True
    return False


def _handled(code: PythonCode, node: ast.Name) -> bool:
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


def _annotation(code: PythonCode, node: ast.Name) -> bool:
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


# names used before their definition, at module level


def _too_early(source: Source, code: PythonCode) -> Iterator[Finding]:
    """Report names that a statement of the module reads before any statement has bound them."""
    first: dict[str, int] = {}
    for statement in code.tree.body:
        for name in _binds(statement):
            first.setdefault(name, statement.lineno)
    for statement in code.tree.body:
        if not isinstance(statement, ast.Assign | ast.AnnAssign | ast.Expr):
            continue
        for node in _reads_now(statement):
            line = first.get(node.id)
            if line is not None and line > statement.lineno and node.id not in dir(builtins):
                yield RULE.finding(
                    source.place(node),
                    f"{node.id} is used here, but only defined at line {line}: NameError as soon "
                    "as the file is imported",
                    data={"name": node.id},
                )
                return


def _binds(statement: ast.stmt) -> Iterator[str]:
    if isinstance(statement, Function | ast.ClassDef):
        yield statement.name
        return
    for node in nodes_under(statement):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.alias):
            yield (node.asname or node.name).split(".")[0]
        elif isinstance(node, Function | ast.ClassDef):
            yield node.name


def _reads_now(statement: ast.stmt) -> Iterator[ast.Name]:
    todo: list[ast.AST] = [statement]
    while todo:
        node = todo.pop()
        if isinstance(
            node, ast.Lambda | ast.GeneratorExp | ast.ListComp | ast.DictComp | ast.SetComp
        ):
            continue
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            yield node
        todo += ast.iter_child_nodes(node)


# mends


def _reference_constants(context: Context) -> Mapping[str, str]:
    """Return the assignments of the reference, as text by name."""
    texts = [context.task.reference] if context.task is not None else []
    if context.extraction is not None and context.extraction.reference:
        texts.append(context.extraction.reference)
    found: dict[str, str] = {}
    for reference in texts:
        try:
            tree = ast.parse(reference)
        except (SyntaxError, ValueError, RecursionError):
            continue
        for statement in tree.body:
            if isinstance(statement, ast.Assign):
                for name in _binds(statement):
                    found.setdefault(name, ast.unparse(statement))
    return found


def _copy(
    source: Source, code: PythonCode, nodes: list[ast.Name], constants: Mapping[str, str]
) -> tuple[Fix, ...]:
    if any(node.id not in constants for node in nodes):
        return ()
    top: ast.AST = nodes[0]
    for around in code.ancestors(nodes[0]):
        if not isinstance(around, ast.Module):
            top = around
    lines = dict.fromkeys(constants[node.id] for node in nodes)
    names = ", ".join(node.id for node in nodes)
    return fix(
        f"define {names} as the reference does",
        [insert_line_before(source, top, "\n".join(lines) + "\n\n")],
    )


def _drop_inputs(source: Source, code: PythonCode, function: Function | None) -> tuple[Fix, ...]:
    if function is None or code.functions.get(function.name) is not function:
        return ()
    used = any(name == function.name for name, _ in code.calls)
    start = source.positions.offset(function.lineno, 0)
    end = source.positions.offset((function.end_lineno or function.lineno) + 1, 0)
    if (function.end_lineno or 0) >= len(source.lines):
        end = len(source.code)
    label = f"drop {function.name}: the reference's own is used"
    return () if used else fix(label, [Edit(start=start, end=end, text="")])


HEAD = "import torch\n"
RULE = Rule(
    code="EXT003",
    name="undefined-python-name",
    severity="error",
    summary="A Python name is used that nothing defines, so the call stops with NameError.",
    why="A submission is a file of its own: names of the reference file are not in it. The sizes "
    "that get_inputs uses are the usual case.",
    bad=(
        HEAD + "def get_inputs():\n    return [torch.rand(batch_size, dim)]\n",
        HEAD + "class ModelNew(Model):\n    pass\n",
        HEAD + "ext = build(source)\nsource = 'x'\ndef build(s):\n    return s\n",
    ),
    good=(
        HEAD + "batch_size, dim = 128, 4096\ndef get_inputs():\n"
        "    return [torch.rand(batch_size, dim)]\n",
        HEAD + "from math import *\nclass ModelNew(torch.nn.Module):\n    def forward(self, x):\n"
        "        return x * tau\n",
        HEAD + "try:\n    unknown\nexcept NameError:\n    unknown = None\n"
        "rows = [r for r in range(3) if (q := r)]\nf = lambda a, *b, **c: (a, b, c, late)\nlate = "
        "1\n"
        "def g():\n    global made\n    made = 1\n    import os.path\n    return os, __file__\n"
        "def h():\n    g()\n    return made\n"
        "class C:\n    size = 3\n    def m(self) -> 'Unknown':\n        return __class__, q\n",
    ),
    detects=("text", "build"),
    guards="Star imports, exec and globals() make it silent, and so does a try that expects the "
    "error. In get_inputs it is a warning where the task makes the inputs.",
    mend="Copies the constant from the reference, takes the parameter that the reference's method takes, "
    "leaves a tensor where it is instead of moving it to an unknown device, corrects the spelling, or drops "
    "the unused function.",
    check=check,
)
