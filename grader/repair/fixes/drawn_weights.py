"""The fix of weights that an answer draws in its own way: the reference's layers draw them, and the answer takes them over."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from copy import copy

from grader.records import Context, Edit, Finding, Fix
from grader.repair.fixes.maker import FixMaker
from grader.source import Source, nodes_under
from grader.source.analysis.reference_text import last_name, reference_of
from grader.source.code_edits import fix

NAME = "reference_layers"
UNUSED = {"get_inputs", "get_init_inputs", "forward"}
STATE = {"Parameter", "ParameterList", "ParameterDict", "register_parameter", "register_buffer"}
TAKEN = """\
with torch.no_grad():
    drawn, own = reference.state_dict(), self.state_dict()
    words = {name: "".join(filter(str.isalnum, name)) for name in [*own, *drawn]}
    for name, one in [*own.items()]:
        alike = [k for k, w in drawn.items() if words[k].endswith(words[name]) and w.shape == one.shape]
        if name in alike or len(alike) == 1:
            own.pop(name).copy_(drawn.pop(name if name in alike else alike[0]))
    pairs = []
    for one in own.values():
        alike = [name for name in drawn if drawn[name].numel() == one.numel()]
        if alike:
            name = min(alike, key=lambda name: drawn[name].dim() != one.dim())
            pairs.append((one, drawn.pop(name)))
    turned = TURNED
    for one, weight in pairs:
        one = one.transpose(0, 1) if turned and one.dim() > 1 else one
        one.copy_(weight.reshape(one.shape))"""
SOMETIMES = (
    "any(one.shape != weight.shape == one.t().shape for one, weight in pairs if one.dim() == 2)"
)
HINTS = re.compile(r"transpos|_t\b|\bin_\w+, out_\w+\)|\.t\(\)|\bmm\(|matmul\(")
"""What tells of weights that are kept with the input's size first."""
PLAIN = """
for name, value in vars(reference).items():
    if isinstance(value, torch.Tensor) and name in vars(self):
        setattr(self, name, value)"""
"""What the reference draws beside its parameters."""


def taken_over(
    source: Source, model: ast.ClassDef, reference: ast.AST, *, proven: bool
) -> tuple[Fix, ...]:
    """Return the fix that copies what the reference's layers draw into the answer's own parameters.

    Each takes what has its name, or alone ends in it; else the first of its size, in the order in which they were made; all of these
    transposed where only that makes some of them fit. `proven` says that a run showed the
    weights to be what is wrong: without it only a constructor with parameters of its own is changed.
    """
    ours = next((n for n in model.body if _is(n, "__init__")), None)
    if not isinstance(ours, ast.FunctionDef) or not isinstance(reference, ast.Module):
        return ()
    if not (proven or _has_own_state(ours)) or any(_is(n, NAME) for n in nodes_under(model)):
        return ()
    layers = _layers(reference), _draws_plain_tensors(reference)
    arguments = _arguments(ours)
    if not layers[0] or arguments is None or _seeds_itself(ours):
        return ()
    hinted = HINTS.search(source.text(model)) is not None
    return tuple(
        one
        for turned in (["True", SOMETIMES] if hinted else [SOMETIMES])
        for one in _taking(source, model, ours, f"{NAME}({arguments})", layers, turned)
    )


def _taking(
    source: Source,
    model: ast.ClassDef,
    ours: ast.FunctionDef,
    made: str,
    layers: tuple[str, bool],
    turned: str,
) -> tuple[Fix, ...]:
    """Return the fix that takes over what `layers` make; `turned` is what says whether it is transposed."""
    head = source.positions.offset(_first_line(model), 0)
    first, last = _first(ours), ours.body[-1]
    start, end = source.span(first)[0], source.span(last)[1]
    indent = " " * last.col_offset
    taken = TAKEN.replace("TURNED", turned) + (PLAIN if layers[1] else "")
    lines = "".join(f"\n{indent}{line}" for line in taken.split("\n"))
    edits = [
        Edit(start=head, end=head, text=f"{layers[0]}\n\n\n"),
        Edit(start=start, end=start, text=f"reference = {made}\n{indent}"),
        Edit(start=end, end=end, text=lines),
    ]
    said = "take the weights that the reference's layers draw"
    return fix(f"{said}, transposed" if turned == "True" else said, edits)


def _is(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.FunctionDef) and node.name == name


def _first_line(model: ast.ClassDef) -> int:
    return min([model.lineno, *(one.lineno for one in model.decorator_list)])


def _first(function: ast.FunctionDef) -> ast.stmt:
    """Return the first statement after the words about a function."""
    words = ast.get_docstring(function) is not None and len(function.body) > 1
    return function.body[1] if words else function.body[0]


def _has_own_state(function: ast.FunctionDef) -> bool:
    calls = (node for node in nodes_under(function) if isinstance(node, ast.Call))
    return any(last_name(call.func) in STATE for call in calls)


def _seeds_itself(function: ast.FunctionDef) -> bool:
    calls = (node for node in nodes_under(function) if isinstance(node, ast.Call))
    return any(last_name(call.func) in {"manual_seed", "seed"} for call in calls)


def _draws_plain_tensors(reference: ast.Module) -> bool:
    """Whether the reference keeps random numbers that are no parameters."""
    return any(
        isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Attribute)
        and isinstance(node.value, ast.Call)
        and last_name(node.value.func) in {"randn", "rand"}
        for node in nodes_under(reference)
    )


def _arguments(function: ast.FunctionDef) -> str | None:
    """Return the constructor's arguments as they are handed on by place."""
    given = function.args
    if given.kwonlyargs or given.kwarg:
        return None
    names = [one.arg for one in given.args[1:]]
    return ", ".join([*names, *([f"*{given.vararg.arg}"] if given.vararg else [])])


def _layers(reference: ast.Module) -> str:
    """Return a function that makes the reference's `Model`; its methods for running are left out."""
    body = _without_what_is_idle([k for node in reference.body if (k := _kept(node)) is not None])
    if not any(isinstance(node, ast.ClassDef) and node.name == "Model" for node in body):
        return ""
    made = ast.parse(f"def {NAME}(*settings):\n    return Model(*settings)").body[0]
    assert isinstance(made, ast.FunctionDef)
    says = ast.Expr(ast.Constant("The reference's layers, with the weights that they draw."))
    made.body = [says, *body, *made.body]
    return ast.unparse(ast.fix_missing_locations(made))


def _without_what_is_idle(body: list[ast.stmt]) -> list[ast.stmt]:
    """Leave out the imports and settings that nothing in a body uses."""
    while True:
        used = {name for node in body for name in _free(node)}
        kept = [node for node in body if (names := _bound(node)) is None or names & used]
        if len(kept) == len(body):
            return body
        body = kept


def _free(node: ast.stmt) -> set[str]:
    """Return the names that a statement reads, without those that its functions are given or set themselves."""
    nodes = list(nodes_under(node))
    names = [name for name in nodes if isinstance(name, ast.Name)]
    own = {one.arg for one in nodes if isinstance(one, ast.arg)}
    if not isinstance(node, ast.Assign):
        own |= {name.id for name in names if isinstance(name.ctx, ast.Store)}
    return {name.id for name in names if isinstance(name.ctx, ast.Load)} - own


def _bound(node: ast.stmt) -> set[str] | None:
    """Return the names that an import or an assignment binds; None for anything else."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        return {(one.asname or one.name).split(".")[0] for one in node.names}
    if isinstance(node, ast.Assign):
        return {
            name.id
            for one in node.targets
            for name in nodes_under(one)
            if isinstance(name, ast.Name)
        }
    return None


def _kept(node: ast.stmt) -> ast.stmt | None:
    if isinstance(node, ast.Import | ast.ImportFrom):
        future = isinstance(node, ast.ImportFrom) and node.module == "__future__"
        stars = isinstance(node, ast.ImportFrom) and any(one.name == "*" for one in node.names)
        return None if future or stars else node
    if isinstance(node, ast.ClassDef):
        made = copy(node)
        made.body = list(_making(node)) or [ast.Pass()]
        return made
    wanted = isinstance(node, ast.Assign) or (
        isinstance(node, ast.FunctionDef) and node.name not in UNUSED
    )
    return node if wanted else None


def _making(node: ast.ClassDef) -> Iterator[ast.stmt]:
    """Yield what a class needs to be made, without the words about it."""
    for item in node.body:
        words = isinstance(item, ast.Expr) and isinstance(item.value, ast.Constant)
        if words or (isinstance(item, ast.FunctionDef) and item.name in UNUSED):
            continue
        documented = isinstance(item, ast.FunctionDef) and ast.get_docstring(item)
        if isinstance(item, ast.FunctionDef) and documented and len(item.body) > 1:
            silent = copy(item)
            silent.body = item.body[1:]
            yield silent
        else:
            yield item


def propose(finding: Finding, source: Source, context: Context) -> tuple[Fix, ...]:
    """Return the ways to have the reference's weights, where leaving a layer's alone is not enough."""
    model, reference = source.classes.get("ModelNew"), reference_of(source, context)
    if model is None or reference is None or finding.fixes:
        return ()
    proven = any(item.code == "own-weights" for item in finding.evidence)
    return taken_over(source, model, reference.tree, proven=proven)


FIX = FixMaker(codes=("NUM006",), propose=propose)
