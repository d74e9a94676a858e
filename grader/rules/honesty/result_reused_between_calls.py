"""CHT004: an earlier call's result is returned again."""

import ast
from collections.abc import Iterator

from grader.records.observed import seen_wrong
from grader.rules import Context, Finding, Severity, Source, Unit, rule_of
from grader.source import nodes_under
from grader.source.analysis.data_flow import (
    assignments,
    depends,
    methods,
    parameters,
    tainted_names,
)
from grader.source.analysis.extension_use import calls_builder, holders, mentions
from grader.source.analysis.lasting_places import (
    lasting_names,
    place_of,
    read_purely,
    surely_before,
)
from grader.source.nodes import descendants, text
from grader.source.python_code import Function, PythonCode

MEMOISERS = {"functools.lru_cache", "functools.cache", "lru_cache", "cachetools.cached"}


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Look for results that are kept on self, in globals or statics, and returned uncomputed.

    A kept value may not be a result: only a run shows that new inputs got an old result.
    """
    severity: Severity = "error" if seen_wrong(context) else "warning"
    for finding in _in_the_text(source):
        yield finding.model_copy(update={"severity": severity})


def _in_the_text(source: Source) -> Iterator[Finding]:
    code = source.module
    if code.model is not None:
        names = holders(source, code)
        for function in code.reached:
            if isinstance(function, Function):
                yield from _report_memoised(source, code, function, names)
                yield from _report_kept(source, code, function, names)
            yield from _report_replayed(source, function)
    for unit in source.cuda:
        yield from _static(unit)


def _report_memoised(
    source: Source, code: PythonCode, function: Function, names: set[str]
) -> Iterator[Finding]:
    calls = [node for node in nodes_under(function) if isinstance(node, ast.Call) and node.args]
    computes = function is code.method("forward") or any(mentions(one.func, names) for one in calls)
    for decorator in function.decorator_list if computes and parameters(function) else ():
        called = decorator.func if isinstance(decorator, ast.Call) else decorator
        if code.canonical(called) in MEMOISERS:
            yield RULE.finding(
                source.place(decorator),
                f"{function.name} remembers its results by its arguments: the same tensor object with new values gets the old result",
            )


def _report_kept(
    source: Source, code: PythonCode, function: Function, names: set[str]
) -> Iterator[Finding]:
    """Find returns of a value stored by an earlier call, without a new store before."""
    lasting = lasting_names(code, function)
    stores = _stores(code, function, names, lasting)
    if not stores or {"replay", "copy_"} <= methods([function]):  # a graph fills its result anew
        return
    places = {place for place, _ in stores}
    for expression, at in _returned_values(function):
        kept = read_purely(lasting, expression, places)
        mine = [store for place, store in stores if place == kept]
        if kept is not None and not any(surely_before(code, store, at) for store in mine):
            yield RULE.finding(
                source.place(at),
                f"{kept} holds the result of an earlier call (line {mine[0].lineno}), and this returns it without computing anything",
            )
            return


def _stores(
    code: PythonCode, function: Function, names: set[str], lasting: set[str]
) -> list[tuple[str, ast.Assign]]:
    """Return the lasting places of kept results, with the storing statements."""

    def starts(node: ast.AST) -> bool:
        return isinstance(node, ast.Call) and mentions(node.func, names)

    values = tainted_names(function, set(parameters(function)), starts)
    return [
        (place, node)
        for node in nodes_under(function)
        if isinstance(node, ast.Assign)
        for target in node.targets
        if (place := place_of(lasting, target)) and depends(node.value, values, starts)
        if not _is_built(code, function, node.value)
    ]


def _is_built(code: PythonCode, function: Function, value: ast.expr) -> bool:
    """Whether a value is a built extension, not a result of one."""
    if isinstance(value, ast.Name):
        made = assignments(function, value.id)
        return bool(made) and all(calls_builder(code, one.value) for one in made)
    return calls_builder(code, value)


def _returned_values(function: Function) -> Iterator[tuple[ast.AST, ast.stmt]]:
    """Yield a function's results, with plain names followed to their assignments."""
    for node in nodes_under(function):
        if isinstance(node, ast.Return) and node.value is not None:
            name = node.value.id if isinstance(node.value, ast.Name) else ""
            yield from ((one.value, one) for one in assignments(function, name))
            yield node.value, node


def _report_replayed(source: Source, function: ast.AST) -> Iterator[Finding]:
    """Find a captured CUDA graph that is replayed without the new input copied in."""
    for node in nodes_under(function) if "copy_" not in methods([function]) else ():
        called = node.func if isinstance(node, ast.Call) else None
        if isinstance(called, ast.Attribute) and called.attr == "replay":
            yield RULE.finding(
                source.place(node),
                "a captured CUDA graph is replayed, and the new input is not copied into the "
                "captured one: it computes the old input's result again",
            )
            return


def _static(unit: Unit) -> Iterator[Finding]:
    """Find tensors that host code keeps in static variables and returns."""
    for node in unit.nodes("declaration"):
        function = unit.function_around(node)
        words = {text(child) for child in node.children if child.type == "storage_class_specifier"}
        tensor = "Tensor" in text(node.child_by_field_name("type"))
        if function is None or "static" not in words or not tensor:
            continue
        names = {text(one) for one in descendants(node, "identifier")}
        for returned in descendants(function.node, "return_statement"):
            value = text(returned.named_child(0))
            if value.split("[")[0].split(".")[0] in names:
                launched = unit.launches_in(function)
                late = any(one.node.end_byte < returned.start_byte for one in launched)
                what = (
                    "every call returns the same buffer, and the next one overwrites it"
                    if late
                    else "an earlier call's tensor is returned before any kernel is launched"
                )
                yield RULE.finding(unit.place(returned), f"{value} is static: {what}")
                break


RULE = rule_of(__file__, check)
