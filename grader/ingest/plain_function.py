"""Answers that are a Python function without a class: `def softmax(x): ... kernel[grid](...)`, as TritonBench asks for.

A function is the answer if it is the only one that launches a kernel, directly or not, and takes the arguments of the
task's `forward`.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from grader.ingest.fences import Segment, segment_lines
from grader.ingest.markers import answer_start, thought_end
from grader.ingest.numbered import Line, Lines, join_lines, number_lines, trim_blank_lines
from grader.ingest.python_region import class_line, python_error
from grader.languages import asks_a_compiler, languages, readings
from grader.languages.caller import Callee, class_calling
from grader.source import dotted_name, nodes_under, parse, read_python

_CALLED = "_answer"
_REFERENCE = "Model"
_CHECKING = frozenset({"allclose", "assert_close", "do_bench", "perf_report", "isclose"})
"""Functions that an answer's test or benchmark calls."""
MAX_FUNCTIONS = 24
"""Most functions that may lead to a kernel: among more, none is taken for the answer."""
_NO_NAME = frozenset({"triton", "cuda", "torch", "kernel", "forward", "fn", "custom", "fast", "my"})
"""Words of a function's name that say nothing of what it computes."""


class Wrapped(NamedTuple):
    """A block with a function that is the answer, and the program with a class that calls it."""

    lines: Lines
    segments: set[int]
    notes: tuple[str, ...]


class Unclear(NamedTuple):
    """A block with functions that launch kernels, none of which is clearly the answer."""

    found: str


def with_class_around(
    text: str, segments: tuple[Segment, ...], reference: str | None, model: str
) -> Wrapped | Unclear | None:
    """Return the program around the last block whose functions launch kernels; None where no block has one."""
    blocks = [one for one in _blocks(text, segments) if _launching_functions(one[0])]
    if not blocks:
        return None
    said = max(answer_start(text), thought_end(text))
    final = [one for one in blocks if one[1].start >= said] or blocks
    lines, segment = final[-1]
    fitting = _fitting_classes(_launching_functions(lines), reference, model)
    if len(fitting) != 1:
        return Unclear(_what_is_unclear(lines, fitting, model))
    name, caller = next(iter(fitting.items()))
    note = f"the answer is the function `{name}` without a class: a class {model} that calls it was added after it"
    after = ("", "", "import torch", "import torch.nn as nn", "", f"{_CALLED} = {name}", "", "")
    wrapped = (*lines, *(Line(0, one) for one in (*after, *caller.split("\n"))))
    return Wrapped(wrapped, {segment.index}, (note,))


def _blocks(text: str, segments: tuple[Segment, ...]) -> Iterator[tuple[Lines, Segment]]:
    """Yield the programs with kernels that have no class of the answer's or the reference's name."""
    signs = [s for one in languages().values() for s in (*one.kernel_signs, *one.signs)]
    alone = len(segments) == 1
    for one in segments:
        code = text[one.start : one.end]
        if not (one.inside or alone) or not any(sign in code for sign in signs):
            continue
        lines = trim_blank_lines(number_lines(text) if alone else segment_lines(text, one))
        if class_line(_REFERENCE).search(code) is None and python_error(lines) is None:
            yield lines, one


def _launching_functions(lines: Lines) -> dict[str, ast.FunctionDef]:
    """Return the functions of a program that reach a kernel through the names that they use and aren't kernels."""
    code = join_lines(lines)
    tree, _ = read_python(code)
    kernels = _functions_compiled(code)
    defined = {name: node for node in (tree.body if tree else ()) for name in _binds(node)}
    compiling = {name for name, node in defined.items() if _compiles(node, lines)}
    ways = _names_that_reach(defined, kernels | compiling)
    found = {
        name: node
        for name, node in defined.items()
        if name in ways - kernels and isinstance(node, ast.FunctionDef) and _gives(node)
    }
    return found if len(found) <= MAX_FUNCTIONS else {}


def _names_that_reach(defined: Mapping[str, ast.stmt], ways: set[str]) -> set[str]:
    """Return `ways` and the names whose definitions use one of them, directly or not."""
    users: dict[str, list[str]] = {}
    for name, node in defined.items():
        for used in _used_names(node):
            users.setdefault(used, []).append(name)
    found, left = set(ways), list(ways)
    while left:
        more = [name for name in users.get(left.pop(), ()) if name not in found]
        found.update(more)
        left += more
    return found


def _functions_compiled(code: str) -> set[str]:
    """Return the names of the Python functions that a compiler translates."""
    found = readings(parse(code)).items()
    return {n for name, one in found if languages()[name].embedded is None for n in one.names}


def _compiles(node: ast.stmt, lines: Lines) -> bool:
    own = join_lines(lines[node.lineno - 1 : node.end_lineno])
    return asks_a_compiler(own)


def _gives(node: ast.FunctionDef) -> bool:
    """Whether a function returns a value, and neither times nor compares another function."""
    returns = any(isinstance(n, ast.Return) and n.value is not None for n in nodes_under(node))
    calls = (dotted_name(n.func) for n in nodes_under(node) if isinstance(n, ast.Call))
    return returns and not any(name.rpartition(".")[2] in _CHECKING for name in calls)


def _fitting_classes(
    functions: Mapping[str, ast.FunctionDef], reference: str | None, model: str
) -> dict[str, str]:
    """Return the wrapping class for each possible function, by the function's name."""
    callers = {
        name: caller
        for name, node in functions.items()
        if (callee := _callee(node)) and (caller := class_calling(callee, reference, model))
    }
    asked = _operations(reference)
    inner = {n for name in callers for n in _used_names(functions[name]) if n != name}
    signs: tuple[Callable[[str], bool], ...] = (
        lambda name: bool(_words(name) & asked),
        lambda name: _words(name) in [_words(one) for one in asked],
        lambda name: not name.startswith("_"),
        lambda name: name not in inner,
    )
    for sign in signs:
        callers = {name: caller for name, caller in callers.items() if sign(name)} or callers
    return callers


def _callee(node: ast.FunctionDef) -> Callee | None:
    """Return the call of a function; None for one without an input or with required keywords."""
    given, keywords = node.args, zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
    count = len(given.posonlyargs) + len(given.args)
    if any(default is None for _, default in keywords) or not (count or given.vararg):
        return None
    most = count + (256 if given.vararg else 0)
    names = tuple(arg.arg for arg in (*given.posonlyargs, *given.args))
    return Callee(_CALLED, count - len(given.defaults), most, alone=True, names=names)


def _operations(reference: str | None) -> set[str]:
    """Return the last names of all calls in the reference's `forward` and functions: `softmax`."""
    tree, _ = read_python(reference) if reference else (None, None)
    calls = (node for node in ast.walk(tree or ast.Module([], [])) if isinstance(node, ast.Call))
    names = {(dotted_name(call.func) or "").rpartition(".")[2].lower() for call in calls}
    return {name for name in names if _words(name)}


def _words(name: str) -> frozenset[str]:
    return frozenset(name.lower().strip("_").split("_")) - _NO_NAME - {""}


def _what_is_unclear(lines: Lines, fitting: Mapping[str, str], model: str) -> str:
    names = ", ".join(f"`{name}`" for name in fitting or _launching_functions(lines))
    if fitting:
        return f"no class {model}, and several functions that may be the answer: {names}"
    return f"no class {model}, and no function with the arguments of the task's forward: {names}"


def _binds(node: ast.stmt) -> set[str]:
    """Return the names that a top-level statement binds, inside branches too."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return {node.name}
    stores = (n for n in ast.walk(node) if isinstance(n, ast.Name))
    return {n.id for n in stores if isinstance(n.ctx, ast.Store)}


def _used_names(node: ast.AST) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
