"""EXT004: ModelNew can't be built or called as the reference is."""

import ast
from collections.abc import Iterator

from grader.rules import Context, Edit, Finding, Fix, Source, fix, rule_of
from grader.source import nodes_under
from grader.source.analysis.diagnostics import confirming_errors
from grader.source.analysis.reference_text import reference_parameters
from grader.source.python_code import Function, PythonCode

Counts = tuple[tuple[str, int | None], ...]
"""Numbers of arguments of the constructor and forward; None where unknown."""


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Compare the constructor and forward with the arguments from the task or the file itself."""
    code = source.module
    model = code.model
    if model is None:
        return
    bases = [code.canonical(base) for base in model.bases]
    if "torch.autograd.Function" in bases:
        yield RULE.finding(
            source.place(model.bases[0]),
            f"{model.name} is an autograd.Function and no module, so it can't be built, moved to the GPU and called "
            "like the reference; it has to be an nn.Module whose forward calls such a function's `apply`",
        )
    own = bases == ["torch.nn.Module"]
    for method, count in _calls(code, context):
        function = code.method(method)
        if function is None and own:
            yield from _report_missing_method(source, code, model, method, count or 0)
        elif function is not None and count is not None and not function.decorator_list:
            yield from _report_wrong_count(source, function, count, context)
    if own:
        yield from _without_super(source, code.method("__init__"))


def _calls(code: PythonCode, context: Context) -> Counts:
    workload = next(iter(context.task.workloads), None) if context.task is not None else None
    if workload is not None:
        return ("__init__", len(workload.init)), ("forward", len(workload.arguments))
    return ("__init__", _returned_count(code, "get_init_inputs")), (
        "forward",
        _returned_count(code, "get_inputs"),
    )


def _returned_count(code: PythonCode, name: str) -> int | None:
    """Return the number of items in a function's only list display."""
    function = code.functions.get(name)
    nodes = nodes_under(function) if function is not None else ()
    values = [node.value for node in nodes if isinstance(node, ast.Return)]
    items = (
        values[0].elts if len(values) == 1 and isinstance(values[0], ast.List | ast.Tuple) else None
    )
    spread = items is None or any(isinstance(item, ast.Starred) for item in items)
    return None if items is None or spread else len(items)


def _report_wrong_count(
    source: Source, function: Function, count: int, context: Context
) -> Iterator[Finding]:
    """Report a method that doesn't accept `count` positional arguments besides self."""
    arguments = function.args
    most = len(arguments.posonlyargs) + len(arguments.args) - 1
    least = max(most - len(arguments.defaults), 0)
    needed = any(default is None for default in arguments.kw_defaults)
    enough = least <= count and (count <= most or arguments.vararg is not None)
    if enough and not needed:
        return
    takes = "any number of" if arguments.vararg else str(most) if most == least else f"{least} to {most}"  # fmt: skip
    constructs = function.name == "__init__"
    whose = f"the file's own {'get_init_inputs' if constructs else 'get_inputs'}"
    yield RULE.finding(
        source.line_place(function.lineno),
        f"{'the constructor' if constructs else function.name} of ModelNew takes {takes} argument{'s' * (takes != '1')}, "
        f"and {whose if context.task is None else 'the task'} passes {count}: TypeError before anything is computed",
        evidence=confirming_errors(context, ("python-argument",), (function.name,), run=True),
        fixes=_with_parameters(source, function, count - most, context),
    )


def _with_parameters(
    source: Source, function: Function, lacking: int, context: Context
) -> tuple[Fix, ...]:
    """Add the parameters that the reference's method has and this one lacks."""
    arguments = function.args
    have = [one.arg for one in (*arguments.posonlyargs, *arguments.args)]
    if lacking <= 0 or arguments.vararg or arguments.kwonlyargs or not have:
        return ()
    theirs = [one for one in reference_parameters(context, function.name) if one not in have]
    names = (theirs + [f"unused_{index}" for index in range(lacking)])[:lacking]
    last = [*arguments.posonlyargs, *arguments.args, *arguments.defaults][-1]
    at, default = source.span(last)[1], "=None" if arguments.defaults else ""
    added = ", ".join(f"{name}{default}" for name in names)
    return fix(f"take {added} as the reference does", [Edit(start=at, end=at, text=f", {added}")])


def _report_missing_method(
    source: Source, code: PythonCode, model: ast.ClassDef, method: str, count: int
) -> Iterator[Finding]:
    """Report a plain nn.Module without the method, whose inherited one takes or does nothing."""
    bound = {t.id for s in model.body if isinstance(s, ast.Assign) for t in s.targets if isinstance(t, ast.Name)}  # fmt: skip
    message = ""
    if method == "forward" and code.method("__call__") is None:
        message = "ModelNew has no forward: calling it raises NotImplementedError"
    elif method == "__init__" and count:
        message = f"ModelNew has no constructor of its own, and gets {count} argument{'s' * (count != 1)}: TypeError before anything is computed"
    if message and method not in bound:
        yield RULE.finding(source.line_place(model.lineno), message)


def _without_super(source: Source, constructor: Function | None) -> Iterator[Finding]:
    """Report a constructor that never calls its base's."""
    nodes = nodes_under(constructor) if constructor is not None else ()
    called = any(isinstance(n, ast.Attribute) and n.attr == "__init__" for n in nodes)
    if constructor is None or called or not constructor.args.args:
        return
    told = ast.get_docstring(constructor, clean=False) is not None and len(constructor.body) > 1
    first = constructor.body[1 if told else 0]
    start, indent = source.span(first)[0], " " * first.col_offset
    edit = Edit(start=start, end=start, text=f"super().__init__()\n{indent}")
    yield RULE.finding(
        source.line_place(constructor.lineno),
        "the constructor never calls super().__init__(): an nn.Module without it can neither hold parameters nor be called",
        fixes=fix("call super().__init__() first", [edit], certain=True),
    )


RULE = rule_of(__file__, check, certain_from_text=True)
