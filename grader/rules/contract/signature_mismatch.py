"""EXT004: ModelNew can't be built or called as the reference is."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from grader.records import Context, Edit, Finding, Fix
from grader.rules.rule import Rule
from grader.source import Source, nodes_under
from grader.source.analysis.diagnostics import confirming
from grader.source.analysis.reference_text import reference_parameters
from grader.source.code_edits import fix
from grader.source.python_code import Function, PythonCode, python_code


@dataclass(frozen=True)
class Arity:
    """How many positional arguments a method takes besides self."""

    least: int
    most: int | None
    """None for `*args`."""
    keyword_only: tuple[str, ...]
    """Keyword-only parameters without a default."""

    def takes(self, count: int) -> bool:
        """Whether a call with so many positional arguments fits."""
        enough = self.most is None or count <= self.most
        return self.least <= count and enough and not self.keyword_only


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Compare the constructor and forward with what the task or the file itself will pass."""
    code = python_code(source)
    if code is None or code.model is None:
        return
    own = _is_plain_module(code, code.model)
    yield from _no_module(source, code, code.model)
    yield from _no_super_call(source, code, own)
    for method, counts in _calls(code, context):
        function = code.method(method)
        if function is None:
            yield from _missing(source, code, method, counts, own)
        elif counts is not None and not _decorated(function):
            arity = _arity(function)
            if not arity.takes(counts):
                yield _finding(source, function, arity, counts, context)


def _calls(code: PythonCode, context: Context) -> Iterator[tuple[str, int | None]]:
    """Yield how many arguments the constructor and forward will get; None where unknown."""
    workloads = context.task.workloads if context.task is not None else ()
    if workloads:
        yield "__init__", len(workloads[0].init)
        yield "forward", len(workloads[0].inputs)
        return
    yield "__init__", _returned(code, "get_init_inputs")
    yield "forward", _returned(code, "get_inputs")


def _returned(code: PythonCode, name: str) -> int | None:
    """Return how many items a function's only list display has."""
    function = code.functions.get(name)
    if function is None:
        return None
    returns = [node for node in nodes_under(function) if isinstance(node, ast.Return)]
    if len(returns) != 1:
        return None
    value = returns[0].value
    if isinstance(value, ast.List | ast.Tuple) and not any(
        isinstance(item, ast.Starred) for item in value.elts
    ):
        return len(value.elts)
    return None


def _arity(function: Function) -> Arity:
    arguments = function.args
    positional = [*arguments.posonlyargs, *arguments.args]
    least = len(positional) - len(arguments.defaults) - 1
    needed = tuple(
        argument.arg
        for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
        if default is None
    )
    most = None if arguments.vararg else len(positional) - 1
    return Arity(max(least, 0), most, needed)


def _finding(
    source: Source,
    function: Function,
    arity: Arity,
    count: int,
    context: Context,
) -> Finding:
    evidence = confirming(context, ("python-argument",), (function.name,), run=True)
    most = "any number of" if arity.most is None else str(arity.most)
    takes = most if arity.most == arity.least else f"{arity.least} to {most}"
    subject = "the constructor" if function.name == "__init__" else function.name
    whose = "the task" if context.task is not None else "the file's own get_inputs"
    if function.name == "__init__" and context.task is None:
        whose = "the file's own get_init_inputs"
    return RULE.finding(
        source.line_place(function.lineno),
        f"{subject} of ModelNew takes {takes} argument{'s' * (takes != '1')}, and {whose} passes "
        f"{count}: TypeError before anything is computed",
        evidence=evidence,
        fixes=_fixes(source, function, arity, count, context),
    )


def _fixes(
    source: Source, function: Function, arity: Arity, count: int, context: Context
) -> tuple[Fix, ...]:
    """Add the parameters that the reference's method has and this one lacks."""
    reference = reference_parameters(context, function.name)
    if arity.most is None or count <= arity.most or function.args.kwonlyargs:
        return ()
    have = [argument.arg for argument in (*function.args.posonlyargs, *function.args.args)]
    names = [name for name in reference if name not in have][: count - arity.most]
    names += [f"unused_{index}" for index in range(count - arity.most - len(names))]
    last = [*function.args.posonlyargs, *function.args.args][-1:]
    if not last:
        return ()
    at = source.span(last[0])[1]
    if function.args.defaults:
        at = source.span(function.args.defaults[-1])[1]
        names = [f"{name}=None" for name in names]
    added = ", ".join(names)
    return fix(f"take {added} as the reference does", [Edit(start=at, end=at, text=f", {added}")])


def _no_module(source: Source, code: PythonCode, model: ast.ClassDef) -> Iterator[Finding]:
    """Report a class of operations where a module is built and called."""
    if "torch.autograd.Function" in [code.canonical(base) for base in model.bases]:
        yield RULE.finding(
            source.place(model.bases[0]),
            f"{model.name} is an autograd.Function and no module, so it can't be built, moved to the GPU and called "
            "like the reference; it has to be an nn.Module whose forward calls such a function's `apply`",
        )


def _is_plain_module(code: PythonCode, model: ast.ClassDef) -> bool:
    return [code.canonical(base) for base in model.bases] == ["torch.nn.Module"]


def _decorated(function: Function) -> bool:
    return bool(function.decorator_list)


def _missing(
    source: Source, code: PythonCode, method: str, count: int | None, own: bool
) -> Iterator[Finding]:
    """Report a plain nn.Module without the method: its own takes or does nothing."""
    model = code.model
    if model is None or not own or any(_assigns(node, method) for node in model.body):
        return
    if method == "forward" and code.method("__call__") is None:
        yield RULE.finding(
            source.line_place(model.lineno),
            "ModelNew has no forward: calling it raises NotImplementedError",
        )
    elif method == "__init__" and count:
        yield RULE.finding(
            source.line_place(model.lineno),
            f"ModelNew has no constructor of its own, and gets {count} argument{'s' * (count != 1)}: TypeError before anything is computed",
        )


def _assigns(node: ast.stmt, name: str) -> bool:
    return isinstance(node, ast.Assign) and any(
        isinstance(target, ast.Name) and target.id == name for target in node.targets
    )


def _no_super_call(source: Source, code: PythonCode, own: bool) -> Iterator[Finding]:
    constructor = code.method("__init__")
    if constructor is None or not own:
        return
    calls = [
        node
        for node in nodes_under(constructor)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "__init__"
    ]
    if calls or not constructor.args.args:
        return
    first = next(
        (
            s
            for s in constructor.body
            if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))
        ),
        constructor.body[-1],
    )
    start = source.span(first)[0]
    indent = " " * first.col_offset
    edit = Edit(start=start, end=start, text=f"super().__init__()\n{indent}")
    yield RULE.finding(
        source.line_place(constructor.lineno),
        "the constructor never calls super().__init__(): an nn.Module without it can neither hold parameters nor be called",
        fixes=fix("call super().__init__() first", [edit], certain=True),
    )


HEAD = "import torch\nimport torch.nn as nn\n"
RULE = Rule(
    code="EXT004",
    name="constructor-or-forward-signature-mismatch",
    severity="error",
    summary="ModelNew cannot be built or called with the arguments that the reference model takes.",
    why="The grader builds ModelNew(*get_init_inputs()) and calls it with get_inputs(), both from "
    "the reference. Another number of arguments is a TypeError.",
    bad=(
        HEAD + "class ModelNew(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "    def forward(self, x, y):\n        return x\n"
        "def get_inputs():\n    return [torch.rand(3)]\n"
    ),
    good=HEAD + "class ModelNew(nn.Module):\n"
    "    def __init__(self, n, eps=1e-5, *more):\n        super(ModelNew, self).__init__()\n"
    "    def forward(self, x, mask=None):\n        return x\n"
    "def get_inputs():\n    return [torch.rand(3)]\ndef get_init_inputs():\n    return [8]\n"
    "class Holder:\n    def __init__(self):\n        self.n = 1\n",
    detects=("text", "build"),
    guards="Parameters with defaults, *args, decorators and other base classes are fine; without a "
    "task only the file's own get_inputs and get_init_inputs count.",
    fix="Adds the parameters that are missing, or the call of super().__init__(); puts a module around an autograd.Function.",
    check=check,
    certain_from_text=True,
)
