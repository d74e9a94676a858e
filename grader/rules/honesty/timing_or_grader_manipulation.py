"""CHT005: the clock, the comparison or the grader itself is tampered with."""

import ast
import re
import sys
from collections.abc import Iterator

from grader.rules import Context, Finding, Source, fix, rule_of
from grader.rules.name_tables import read_names
from grader.source.code_edits import delete_statement
from grader.source.nodes import text
from grader.source.python_code import PythonCode, constant_text

NAMES = read_names(__file__)

LIBRARIES = {"torch", "numpy", "triton", "builtins", *sys.stdlib_module_names}
RESULT_LINE = re.compile(
    r"^\s*[\[{(]?[\"']?(?:correct(?:ness)?|passed|all tests passed|result|verdict|score|speed-?up|"
    r"runtime|mean time|compiled)[\"']?\s*[:=]",
    re.IGNORECASE,
)


def check(source: Source, _context: Context) -> Iterator[Finding]:
    """Look for patched library functions, for reading of frames, and for forged output."""
    code = source.module
    for node, name in _patches(code):
        yield _patch(source, node, name)
    yield from _calls(source, code)
    yield from _frames(source, code)
    yield from _of_the_grader(source, code)
    yield from _report_interposed(source)


def _patches(code: PythonCode) -> Iterator[tuple[ast.AST, str]]:
    """Yield the statements that set or delete an attribute of a library, with its full name."""
    for kind in (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Delete):
        for node in code.of(kind):
            for target in getattr(node, "targets", None) or [node.target]:  # type: ignore[attr-defined]
                name = _patched_name(code, target)
                if name and not code.in_main_guard(node):
                    yield node, name
    for called, call in code.calls:
        if called in {"setattr", "delattr"} and len(call.args) >= 2:
            owner = code.canonical(call.args[0])
            if _is_library(code, owner) and not owner.startswith(NAMES["settings"]):
                yield call, f"{owner}.{constant_text(call.args[1]) or '...'}"
        elif called.endswith(("mock.patch", "mock.patch.object", "monkeypatch.setattr")):
            yield call, (constant_text(call.args[0]) if call.args else "") or "..."


def _patch(source: Source, node: ast.AST, name: str) -> Finding:
    """Report a replaced attribute of a library; functions that decide a verdict have no honest replacement."""
    decides = role(name)
    fixes = fix("leave the library alone", [delete_statement(source, node)]) if decides and isinstance(node, ast.stmt) else ()  # fmt: skip
    return RULE.finding(
        source.place(node),
        f"{name} is replaced: {decides} of everything else in the process is the replacement's"
        if decides
        else f"{name} is set in a library that everything else in the process shares",
        severity="error" if decides else "warning",
        fixes=fixes,
        rejects=bool(decides),
    )


def _patched_name(code: PythonCode, target: ast.AST) -> str:
    """Return the library name that an assignment replaces, or ""."""
    if isinstance(target, ast.Subscript):
        owner, key = code.canonical(target.value), constant_text(target.slice)
        if owner == "sys.modules":  # a module that the file makes itself has no name of a library's
            return key if key and key.partition(".")[0] in LIBRARIES else ""
        dictionary = owner.endswith(".__dict__") and _is_library(code, owner)
        own = owner in {"builtins.__dict__", "__builtins__"}
        return f"{owner}[...]" if dictionary or own else ""
    name = code.canonical(target) if isinstance(target, ast.Attribute) else ""
    free = name.startswith(NAMES["settings"]) or ".config." in name or name in NAMES["output"]
    return "" if free or not _is_library(code, name) else name


def _is_library(code: PythonCode, name: str) -> bool:
    """Whether a full name belongs to an imported library that a grader shares, not to the file."""
    first = name.split(".", maxsplit=1)[0]
    imported = {value.split(".")[0] for value in code.aliases.values()} | {"builtins"}
    return first in LIBRARIES & imported and first not in {*code.functions, *code.classes}


def _calls(source: Source, code: PythonCode) -> Iterator[Finding]:
    """Report calls that watch the process, end it, shift a timer, or print a grader's words."""
    printed = False
    for name, call in code.calls:
        said = _forged_line(call) if name in NAMES["prints"] and not printed else ""
        in_model = code.class_of(call) is not None or code.function_of(call) is None
        message, weight = "", "note"
        if name in NAMES["watches"]:
            message = f"{name} looks at frames, objects or calls of the whole process"
        elif name in NAMES["leaving"] and in_model:
            message = f"{name} changes how the process ends"
        elif name == "time.sleep" and code.runs_in_forward(call):
            message, weight = f"{name} in forward shifts what a timer measures", "warning"
        elif said:
            message = f"this prints a line that looks like a grader's result: {said.strip()[:60]!r}"
            weight = "warning"
        if message and not code.in_main_guard(call):
            printed = printed or bool(said)
            yield RULE.finding(
                source.place(call), message, severity="warning" if weight == "warning" else "note"
            )


def _forged_line(call: ast.Call) -> str:
    """Return the text of a line that resembles a grader's result."""
    for argument in call.args:
        first = argument.values[:1] if isinstance(argument, ast.JoinedStr) else []
        said = constant_text(argument) or next(map(constant_text, first), "") or ""
        if RESULT_LINE.search(said):
            return said
    return ""


def _frames(source: Source, code: PythonCode) -> Iterator[Finding]:
    """Report reads of variables of a caller's frame, or of a foreign function."""
    named: list[tuple[ast.AST, str, ast.AST]] = [
        (node, node.attr, node.value) for node in code.of(ast.Attribute)
    ]
    named += [
        (call, constant_text(call.args[1]) or "", call.args[0])
        for name, call in code.calls
        if name == "getattr" and len(call.args) > 1
    ]
    climbs = {name for name, _ in code.calls} | {attribute for _, attribute, _ in named}
    for node, attribute, owner in named:
        callers = attribute in NAMES["variables"] and not climbs.isdisjoint(NAMES["climbs"])
        if callers or (attribute in NAMES["of_a_function"] and not _is_of_the_file(code, owner)):
            whose = "whoever calls this file" if callers else "a function that is not of this file"
            said = f".{attribute} reads the variables of {whose}"
            yield RULE.finding(source.place(node), said, rejects=True)
            return


def _is_of_the_file(code: PythonCode, node: ast.AST) -> bool:
    """Whether a function is defined in the file, or is its own method or decorator's argument."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return isinstance(node, ast.Name) and node.id not in code.aliases


def _of_the_grader(source: Source, code: PythonCode) -> Iterator[Finding]:
    """Report parts of the grader by name: as a module, or in a string that becomes one."""
    found: list[tuple[ast.AST, str]] = [
        (node, item.name) for node in code.of(ast.Import) for item in node.names
    ]
    found += [(node, node.module or "") for node in code.of(ast.ImportFrom) if not node.level]
    found += [(call, code.canonical(call)) for made, call in code.calls if made in NAMES["imports"]]
    found = [
        (node, name) for node, name in found if name.partition(".")[0] in NAMES["own_packages"]
    ]
    found += [(n, n.attr) for n in code.of(ast.Attribute) if n.attr.startswith(NAMES["own_names"])]
    for literal in code.of(ast.Constant):
        if isinstance(literal.value, str) and "\n" not in literal.value:
            found += [(literal, name) for name in NAMES["own_names"] if name in literal.value]
    for node, name in found[:1]:
        said = f"{name} is a part of the grader, whose reports on this program would be its own"
        yield RULE.finding(source.place(node), said, rejects=True)


def _report_interposed(source: Source) -> Iterator[Finding]:
    """Report C functions with names of timers or of the grader, which the loader would use instead."""
    for unit in source.units:
        named = unit.nodes("identifier", "namespace_identifier")
        for node in [one for one in named if text(one).startswith(NAMES["own_names"])][:1]:
            said = f"{text(node)} is a function of the grader's simulator"
            yield RULE.finding(unit.place(node), said, rejects=True)
        for function in unit.functions:
            if function.name in NAMES["timers"]:
                said = f"the extension defines {function.name}, in the place of CUDA's own"
                yield RULE.finding(unit.place(function.node), said, rejects=True)
        for node in unit.nodes("preproc_def", "preproc_function_def"):
            name = text(node.child_by_field_name("name"))
            if name in NAMES["timers"]:
                said = f"{name} is redefined by a macro"
                yield RULE.finding(unit.place(node), said, severity="warning")


RULE = rule_of(__file__, check)


CLOCKS = (
    "time.", "timeit.", "torch.cuda.Event", "torch.cuda.synchronize", "torch.cuda.profiler.",
    "torch.utils.benchmark.", "torch.profiler.", "torch.autograd.profiler.", "triton.testing.",
)  # fmt: skip
COMPARISONS = (
    "torch.allclose", "torch.isclose", "torch.equal", "torch.eq", "torch.ne", "torch.testing.",
    "torch.Tensor.allclose", "torch.Tensor.isclose", "torch.Tensor.equal", "torch.Tensor.__eq__",
    "torch.Tensor.__ne__", "torch.Tensor.__sub__", "torch.Tensor.__rsub__", "torch.Tensor.eq",
    "numpy.allclose", "numpy.isclose", "numpy.array_equal", "numpy.testing.", "math.isclose", "statistics.",
)  # fmt: skip
DRAWS = (
    "torch.rand", "torch.randn", "torch.randint", "torch.rand_like", "torch.randn_like", "torch.randperm",
    "torch.manual_seed", "torch.cuda.manual_seed", "torch.Generator", "torch.get_rng_state",
    "random.", "numpy.random.",
)  # fmt: skip
CALLS = ("torch.nn.Module.__call__", "torch.nn.Module._call_impl", "torch.Tensor.cpu", "torch.Tensor.numpy",
         "torch.Tensor.tolist", "torch.Tensor.item")  # fmt: skip
ROLES = {
    "the clock": CLOCKS,
    "the comparison": COMPARISONS,
    "how inputs are drawn": DRAWS,
    "how a model is called and its result read": CALLS,
}


def role(name: str) -> str:
    """Return a grader's use of a library function; "" for one that decides no verdict."""
    return next((what for what, names in ROLES.items() if any(_is(name, one) for one in names)), "")


def _is(name: str, one: str) -> bool:
    """Whether a name is in the list, is part of an entry, or is a listed module."""
    return f"{name}.".startswith(one if one.endswith(".") else f"{one}.")
