"""The fix of weights that an answer draws in its own way: the reference's layers draw them, and the answer copies them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path

from grader.records import Context, Edit, Finding, Fix
from grader.repair.fixes.maker import FixMaker
from grader.source import Source, nodes_under
from grader.source.analysis.reference_text import last_name, reference_of
from grader.source.code_edits import fix, insert_line_before
from grader.source.scopes import needed_statements

NAME = "reference_layers"
LABEL = "take the weights that the reference's layers draw"
UNUSED = {"get_inputs", "get_init_inputs", "forward"}
STATE = {"Parameter", "ParameterList", "ParameterDict", "register_parameter", "register_buffer"}
TAKEN = Path(__file__).with_suffix(".py.txt").read_text("utf-8").rstrip("\n")
"""Copies what the reference has drawn into the answer's own parameters; `TURNED` says whether all are transposed."""
SOMETIMES = (
    "any(one.shape != weight.shape == one.t().shape for one, weight in pairs if one.dim() == 2)"
)
HINTS = re.compile(r"transpos|_t\b|\bin_\w+, out_\w+\)|\.t\(\)|\bmm\(|matmul\(")
"""What tells of weights that are kept with the input's size first."""


def taken_over(
    source: Source, model: ast.ClassDef, reference: ast.AST, *, proven: bool
) -> Iterator[Fix]:
    """Yield the fixes that copy the weights drawn by the reference's layers into the answer's own parameters.

    Each takes what has its name, or alone ends in it; else the first of its size, in the order in which they were made; all of these
    transposed where only that makes some of them fit. `proven` says that a run showed the
    weights to be what is wrong: without it only a constructor with parameters of its own is changed.
    """
    ours = next((n for n in model.body if _is(n, "__init__")), None)
    if not isinstance(ours, ast.FunctionDef) or not isinstance(reference, ast.Module):
        return
    called = {last_name(node.func) for node in nodes_under(ours) if isinstance(node, ast.Call)}
    done = any(_is(n, NAME) for n in nodes_under(model)) or called & {"manual_seed", "seed"}
    layers, arguments = _layers(reference), _arguments(ours)
    if done or not (proven or called & STATE) or not layers or arguments is None:
        return
    hinted = HINTS.search(source.text(model)) is not None
    for turned in ["True", SOMETIMES] if hinted else [SOMETIMES]:
        taken = TAKEN.replace("TURNED", turned)
        said = f"{LABEL}, transposed" if turned == "True" else LABEL
        yield from fix(said, _edits(source, model, ours, layers, f"{NAME}({arguments})", taken))


def _edits(
    source: Source, model: ast.ClassDef, ours: ast.FunctionDef, layers: str, made: str, taken: str
) -> list[Edit | None]:
    """Return the function that makes the layers, the call of it at the constructor's beginning, and the copy at its end."""
    words = ast.get_docstring(ours) is not None and len(ours.body) > 1
    start = source.span(ours.body[1] if words else ours.body[0])[0]
    end = source.span(ours.body[-1])[1]
    indent = " " * ours.body[-1].col_offset
    lines = "".join(f"\n{indent}{line}" for line in taken.split("\n"))
    return [
        insert_line_before(source, model, f"{layers}\n\n\n"),
        Edit(start=start, end=start, text=f"reference = {made}\n{indent}"),
        Edit(start=end, end=end, text=lines),
    ]


def _is(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.FunctionDef) and node.name == name


def _arguments(function: ast.FunctionDef) -> str | None:
    """Return the constructor's arguments as they are handed on by place."""
    given = function.args
    if given.kwonlyargs or given.kwarg:
        return None
    names = [one.arg for one in given.args[1:]]
    return ", ".join([*names, *([f"*{given.vararg.arg}"] if given.vararg else [])])


def _layers(reference: ast.Module) -> str:
    """Return a function that makes the reference's `Model`: its constructor's needs, without docstrings and other methods."""
    body = [deepcopy(node) for node in reference.body if _makes(node)]
    for one in (part for node in body for part in ast.walk(node)):
        if isinstance(one, ast.ClassDef | ast.FunctionDef):
            one.body = [item for item in one.body if not _is_idle(item)] or [ast.Pass()]
    body = needed_statements(body, {"Model"})
    if not body:
        return ""
    made = ast.parse(f"def {NAME}(*settings):\n    return Model(*settings)").body[0]
    assert isinstance(made, ast.FunctionDef)
    says = ast.Expr(ast.Constant("The reference's layers, with the weights that they draw."))
    made.body = [says, *body, *made.body]
    return ast.unparse(ast.fix_missing_locations(made))


def _makes(node: ast.stmt) -> bool:
    """Whether a statement of a module may have to do with making its model."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        future = isinstance(node, ast.ImportFrom) and node.module == "__future__"
        return not future and not any(one.name == "*" for one in node.names)
    return isinstance(node, ast.ClassDef | ast.Assign | ast.FunctionDef) and not _is_idle(node)


def _is_idle(node: ast.stmt) -> bool:
    """Whether it is words about a program, or a function that only runs it."""
    words = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return words or (isinstance(node, ast.FunctionDef) and node.name in UNUSED)


def propose(finding: Finding, source: Source, context: Context) -> Iterator[Fix]:
    """Yield the ways to get the reference's weights, where keeping a layer's own is not enough."""
    model, reference = source.module.classes.get("ModelNew"), reference_of(source, context)
    if model is not None and reference is not None and not finding.fixes:
        proven = any(item.code == "own-weights" for item in finding.evidence)
        yield from taken_over(source, model, reference.tree, proven=proven)


FIX = FixMaker(codes=("NUM006",), propose=propose)
