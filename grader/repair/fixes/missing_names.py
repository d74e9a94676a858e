"""Fixes of names that Python doesn't find: an import, another spelling, a parameter of the reference, a move to nowhere."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Collection, Iterator, Sequence
from itertools import islice

from grader.records import Context, Edit, Finding, Fix
from grader.repair.fixes.maker import FixMaker
from grader.source import Source, nodes_under
from grader.source.analysis.reference_text import reference_parameters
from grader.source.code_edits import fix, insert_line_before, replace
from grader.source.python_code import Function, PythonCode, python_code

INPUT_FUNCTIONS = {"get_inputs", "get_init_inputs", "get_test_inputs"}
ALIKE = 0.75
"""How alike two spellings are that may be meant as one, by difflib's ratio."""

IMPORTS = {
    "math": "import math",
    "os": "import os",
    "functools": "import functools",
    "torch": "import torch",
    "nn": "import torch.nn as nn",
    "F": "import torch.nn.functional as F",
    "np": "import numpy as np",
    "numpy": "import numpy",
    "init": "import torch.nn.init as init",
    "load": "from torch.utils.cpp_extension import load",
    "load_inline": "from torch.utils.cpp_extension import load_inline",
    **dict.fromkeys(("Optional", "Tuple", "List", "Union"), "from typing import List, Optional, Tuple, Union"),
}  # fmt: skip
"""What a name stands for in nearly every program that uses it."""


def undefined(
    source: Source, code: PythonCode, nodes: Sequence[ast.Name], reference: Sequence[str]
) -> Iterator[Fix]:
    """Yield what may be meant by names that a function reads and nothing defines.

    `reference` are the parameters that the function has in the reference, without self.
    """
    yield from _imported(source, code, nodes)
    function = code.function_of(nodes[0])
    if function is None:
        return
    yield from _stay(source, code, nodes)
    yield from _take(source, function, nodes, reference)
    known = [name for name in _names(function) if name != "self"]
    yield from _spelled(source, nodes, known)


def _imported(source: Source, code: PythonCode, nodes: Sequence[ast.Name]) -> tuple[Fix, ...]:
    """Import the modules that are known by these names."""
    lines = list(dict.fromkeys(IMPORTS.get(node.id, "") for node in nodes))
    body = [
        one
        for one in code.tree.body
        if not (isinstance(one, ast.ImportFrom) and one.module == "__future__")
        and not (isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant))
    ]
    if not all(lines) or not body:
        return ()
    first = next((one for one in body if isinstance(one, ast.Import | ast.ImportFrom)), body[0])
    label = "import " + ", ".join(dict.fromkeys(node.id for node in nodes))
    return fix(label, [insert_line_before(source, first, "\n".join(lines) + "\n")])


def _stay(source: Source, code: PythonCode, nodes: Sequence[ast.Name]) -> tuple[Fix, ...]:
    """`x` for `x.to(device)`: the inputs are on the device already."""
    moves = [code.parents.get(node) for node in nodes]
    edits: list[Edit | None] = []
    for move in moves:
        if not isinstance(move, ast.Call) or len(move.args) != 1 or move.keywords:
            return ()
        if not isinstance(move.func, ast.Attribute) or move.func.attr not in {"to", "cuda"}:
            return ()
        edits.append(Edit(start=source.span(move.func.value)[1], end=source.span(move)[1], text=""))
    return fix("leave it where it is: on the device", edits)


def _take(
    source: Source, function: Function, nodes: Sequence[ast.Name], reference: Sequence[str]
) -> tuple[Fix, ...]:
    """Take what the reference's method takes under these names."""
    own = function.args.args
    have = [argument.arg for argument in own]
    missing = [name for name in dict.fromkeys(n.id for n in nodes) if name in reference]
    if len(missing) != len({node.id for node in nodes}) or not own or function.args.posonlyargs:
        return ()
    edits = []
    for name in missing:
        before = [other for other in reference[: reference.index(name)] if other in have]
        at = source.span(own[have.index(before[-1]) if before else 0])[1]
        edits.append(Edit(start=at, end=at, text=f", {name}"))
    first_default = len(own) - len(function.args.defaults)
    if any(edit.start > source.span(own[first_default - 1])[1] for edit in edits):
        return ()
    merged = {edit.start: "".join(e.text for e in edits if e.start == edit.start) for edit in edits}
    return fix(
        f"take {', '.join(missing)} as the reference does",
        [Edit(start=at, end=at, text=words) for at, words in merged.items()],
    )


def _names(function: Function) -> list[str]:
    given = [
        argument.arg for argument in nodes_under(function.args) if isinstance(argument, ast.arg)
    ]
    made = [
        node.id
        for node in nodes_under(function)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    ]
    return list(dict.fromkeys((*given, *made)))


def _spelled(source: Source, nodes: Sequence[ast.Name], known: Sequence[str]) -> tuple[Fix, ...]:
    edits: list[Edit | None] = []
    words = []
    for node in nodes:
        near = difflib.get_close_matches(node.id, known, n=1, cutoff=ALIKE)
        if not near:
            return ()
        words.append(near[0])
        edits.append(replace(source, node, near[0]))
    return fix(f"write {', '.join(dict.fromkeys(words))}", edits)


def never_set(source: Source, code: PythonCode, reads: Sequence[ast.Attribute]) -> Iterator[Fix]:
    """Yield what may be meant where `self.NAME` is read and never set.

    A parameter of the constructor by that name was to be kept; else another attribute is meant: first what the class
    sets and nobody reads, then what is spelled alike.
    """
    if code.model is None:
        return
    name = reads[0].attr
    yield from _kept(source, code, name)
    own = [
        node
        for node in nodes_under(code.model)
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == "self"
    ]
    stored = list(dict.fromkeys(n.attr for n in own if not isinstance(n.ctx, ast.Load)))
    read = {n.attr for n in own if isinstance(n.ctx, ast.Load)}
    unread = [other for other in stored if other not in read]
    near = difflib.get_close_matches(name, stored, n=1, cutoff=ALIKE)
    for other in dict.fromkeys((*(unread if len(unread) == 1 else ()), *near)):
        ends = [source.span(node)[1] for node in reads]
        edits = [Edit(start=end - len(name), end=end, text=other) for end in ends]
        yield from fix(f"read self.{other}, which the constructor sets", edits)


def _kept(source: Source, code: PythonCode, name: str) -> tuple[Fix, ...]:
    """Keep what the constructor is given by that name."""
    constructor = code.method("__init__")
    if constructor is None or name not in {a.arg for a in constructor.args.args[1:]}:
        return ()
    last = constructor.body[-1]
    at = source.span(last)[1]
    line = f"\n{' ' * last.col_offset}self.{name} = {name}"
    return fix(f"keep {name} in the constructor", [Edit(start=at, end=at, text=line)])


def propose(finding: Finding, source: Source, context: Context) -> Iterator[Fix]:
    """Yield what may be meant by names that nothing defines, or by an attribute that nothing sets."""
    code = python_code(source)
    if code is None or finding.fixes:
        return
    reads = [node for node in code.of(ast.Attribute) if _is_read(node, finding.names)]
    if any(source.place(node) == finding.place for node in reads):
        yield from never_set(source, code, reads)
        return
    nodes = list(_first_uses(source, code, finding))
    function = code.function_of(nodes[0]) if nodes else None
    where = function.name if function is not None else ""
    if nodes and where not in INPUT_FUNCTIONS:
        yield from undefined(source, code, nodes, reference_parameters(context, where))


def _is_read(node: ast.Attribute, names: Collection[str]) -> bool:
    own = isinstance(node.value, ast.Name) and node.value.id == "self"
    return own and node.attr in names and isinstance(node.ctx, ast.Load)


def _first_uses(source: Source, code: PythonCode, finding: Finding) -> Iterator[ast.Name]:
    """Yield the first use of each name of a finding, in the function that the finding is about."""
    every = [node for node in code.of(ast.Name) if node.id in finding.names]
    first = next((node for node in every if source.place(node) == finding.place), None)
    if first is None:
        return
    same = [node for node in every if code.function_of(node) is code.function_of(first)]
    for name in finding.names:
        yield from islice((node for node in same if node.id == name), 1)


FIX = FixMaker(codes=("EXT003",), propose=propose)
