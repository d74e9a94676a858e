"""CHT004: an earlier call's result is returned again."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from grader.records import Context, Finding, Severity
from grader.records.observed import seen_wrong
from grader.rules.rule import Rule
from grader.source import Source, Unit, nodes_under
from grader.source.analysis.data_flow import depends, parameters, tainted
from grader.source.analysis.extension_use import calls_builder, holders, mentions
from grader.source.analysis.lasting_places import (
    lasting_names,
    place_of,
    read_purely,
    surely_before,
)
from grader.source.cuda_code import cuda_code, descendants, text
from grader.source.python_code import Function, PythonCode, python_code

MEMOISERS = {"functools.lru_cache", "functools.cache", "lru_cache", "cachetools.cached"}


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Look for results that are kept on self, in globals or statics, and returned uncomputed.

    What is kept may be a result or anything else: that new values got an old result is seen in a run.
    """
    severity: Severity = "error" if seen_wrong(context) else "warning"
    for finding in _in_the_text(source):
        yield finding.model_copy(update={"severity": severity})


def _in_the_text(source: Source) -> Iterator[Finding]:
    code = python_code(source)
    if code is not None and code.model is not None:
        names = holders(source, code)
        for function in code.reached:
            if isinstance(function, Function):
                yield from _memoised(source, code, function, names)
                yield from _kept(source, code, function, names)
        yield from _replayed(source, code)
    for unit in source.cuda:
        yield from _static(unit)


def _memoised(
    source: Source, code: PythonCode, function: Function, names: set[str]
) -> Iterator[Finding]:
    for decorator in function.decorator_list:
        called = decorator.func if isinstance(decorator, ast.Call) else decorator
        if code.canonical(called) not in MEMOISERS or not parameters(function):
            continue
        is_forward = function is code.method("forward")
        if is_forward or any(
            isinstance(node, ast.Call) and mentions(node.func, names) and node.args
            for node in nodes_under(function)
        ):
            yield RULE.finding(
                source.place(decorator),
                f"{function.name} remembers its results by its arguments: the same tensor object with new values gets the old result",
            )


def _kept(
    source: Source, code: PythonCode, function: Function, names: set[str]
) -> Iterator[Finding]:
    """Find returns of something that an earlier call stored, without a store on the way."""
    lasting = lasting_names(code, function)
    stores = _stores(code, function, names, lasting)
    if not stores or {"replay", "copy_"} <= _methods(function):  # a graph fills its result anew
        return
    for node in nodes_under(function):
        if not isinstance(node, ast.Return) or node.value is None:
            continue
        for expression, at in _returned(function, node):
            kept = read_purely(lasting, expression, {one for one, _ in stores})
            if kept is None or any(
                one == kept and surely_before(code, store, at) for one, store in stores
            ):
                continue
            yield RULE.finding(
                source.place(at),
                f"{kept} holds the result of an earlier call (line {next(store.lineno for one, store in stores if one == kept)}), and "
                "this returns it without computing anything",
            )
            return


def _stores(
    code: PythonCode, function: Function, names: set[str], lasting: set[str]
) -> list[tuple[str, ast.Assign]]:
    """Return where results are kept that outlive the call, and by which statements."""

    def starts(node: ast.AST) -> bool:
        return isinstance(node, ast.Call) and mentions(node.func, names)

    values = tainted(function, set(parameters(function)), starts)
    return [
        (place, node)
        for node in nodes_under(function)
        if isinstance(node, ast.Assign)
        for target in node.targets
        if (place := place_of(lasting, target)) and depends(node.value, values, starts)
        if not _is_built(code, function, node.value)
    ]


def _is_built(code: PythonCode, function: Function, value: ast.expr) -> bool:
    """Whether a value is an extension that is built here, and no result of one."""
    if isinstance(value, ast.Name):
        made = [
            node.value
            for node in nodes_under(function)
            if isinstance(node, ast.Assign)
            and any(isinstance(one, ast.Name) and one.id == value.id for one in node.targets)
        ]
        return bool(made) and all(calls_builder(code, one) for one in made)
    return calls_builder(code, value)


def _methods(function: ast.AST) -> set[str]:
    """Return the names of the methods that a function calls."""
    return {
        node.func.attr
        for node in nodes_under(function)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    }


def _returned(function: Function, node: ast.Return) -> Iterator[tuple[ast.AST, ast.stmt]]:
    """Yield what a return gives back, plain names followed to their assignments."""
    value = node.value
    if isinstance(value, ast.Name):
        for one in nodes_under(function):
            if isinstance(one, ast.Assign) and any(
                isinstance(target, ast.Name) and target.id == value.id for target in one.targets
            ):
                yield one.value, one
    if value is not None:
        yield value, node


def _replayed(source: Source, code: PythonCode) -> Iterator[Finding]:
    """Find a captured CUDA graph that is replayed without the new input copied in."""
    for function in code.reached:
        calls = [node for node in nodes_under(function) if isinstance(node, ast.Call)]
        methods = _methods(function)
        if "replay" in methods and "copy_" not in methods:
            node = next(
                one
                for one in calls
                if isinstance(one.func, ast.Attribute) and one.func.attr == "replay"
            )
            yield RULE.finding(
                source.place(node),
                "a captured CUDA graph is replayed, and the new input is not copied into the "
                "captured one: it computes the old input's result again",
            )


def _static(unit: Unit) -> Iterator[Finding]:
    code = cuda_code(unit)
    for node in code.of("declaration"):
        function = code.function(node)
        words = {text(child) for child in node.children if child.type == "storage_class_specifier"}
        kind = text(node.child_by_field_name("type"))
        if function is None or "static" not in words or "Tensor" not in kind:
            continue
        names = {text(one) for one in descendants(node, "identifier")}
        for returned in descendants(function.node, "return_statement"):
            inner = returned.named_child(0)
            if inner is not None and text(inner).split("[")[0].split(".")[0] in names:
                early = not any(
                    launch.node.end_byte < returned.start_byte
                    for launch in unit.launches
                    if launch.host_function is function
                )
                yield RULE.finding(
                    unit.place(returned),
                    f"{text(inner)} is static: "
                    + (
                        "an earlier call's tensor is returned before any kernel is launched"
                        if early
                        else "every call returns the same buffer, and the next one overwrites it"
                    ),
                )
                break


HEAD = "import torch\nfrom torch import nn\nfrom torch.utils.cpp_extension import load_inline\n"
EXT = 'ext = load_inline(name="e", cpp_sources="", cuda_sources="", functions=["f"])\n'
MODEL = (
    f"{HEAD}{EXT}class ModelNew(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
    "        self.cache = {}\n        self.last = None\n        self.buffer = None\n"
    "        self.weight = nn.Parameter(torch.ones(3))\n        self.packed = None\n"
    "    def forward(self, x):\n"
)
RULE = Rule(
    code="CHT004",
    name="result-reused-between-calls",
    severity="error",
    summary="The result of an earlier call is kept and returned again instead of being computed.",
    why="A benchmark calls forward many times with the same tensor. What is remembered by address, "
    "shape or call is not computed, and wrong as soon as the values change.",
    bad=(
        f"{MODEL}        key = x.data_ptr()\n        if key not in self.cache:\n"
        "            self.cache[key] = ext.f(x)\n        return self.cache[key]\n"
    ),
    good=(
        f"{MODEL}        if self.buffer is None or self.buffer.shape != x.shape:\n"
        "            self.buffer = torch.empty_like(x)\n        ext.f(x, self.buffer)\n"
        "        return self.buffer\n"
    ),
    detects=("text", "evidence"),
    guards="A warning where no run shows a wrong result. Packed weights, workspaces, extensions and output buffers that are written anew are no "
    "results; a result stored and returned by the same call is fresh, and so is that of a graph "
    "which is replayed with the new input copied in.",
    fix="",
    check=check,
)
