"""NUM006: weights are made in another way than in the reference."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from grader.records import Evidence, Finding, Fix, Task
from grader.rules.mending import delete_statement, fix
from grader.rules.numeric.references import Reference, last_name, reference_of
from grader.rules.numeric.take_weights import reference_layers_weights
from grader.rules.observed import wrong_results
from grader.rules.rule import Context, Example, Rule
from grader.source import nodes_under

if TYPE_CHECKING:
    from grader.source import Source

LAYERS = (
    "Conv",
    "Linear",
    "BatchNorm",
    "LayerNorm",
    "GroupNorm",
    "Embedding",
    "LSTM",
    "GRU",
    "RNN",
    "Bilinear",
    "PReLU",
    "MultiheadAttention",
    "InstanceNorm",
)


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Look for parameters of its own making where the reference has a layer."""
    reference = reference_of(source, context)
    model = source.classes.get("ModelNew")
    proof = tuple(e for e in context.evidence if e.code == "own-weights")
    fixes = (
        reference_layers_weights(source, model, reference.tree)
        if model is not None and reference is not None
        else ()
    )
    if model is not None and proof:
        yield _proven(source, model, proof, fixes)
        return
    if reference is None or model is None:
        return
    wanted = _layers(reference.tree)
    yield from _drawn_anew(source, model, reference, wrong_results(context))
    if not wanted or set(wanted) <= set(_layers(model)):
        return
    own = {name for name, _ in _parameters(model)}
    alike = {name: _draw(node) for name, node in _parameters(reference.tree)}
    missing = [name for name in wanted if name not in _layers(model)]
    wrong = wrong_results(context)
    for name, node in _parameters(model):
        if _draw(node) and alike.get(name) != _draw(node) and missing:
            yield RULE.finding(
                source.place(node),
                f"`{name}` is drawn here in another way than the reference's "
                f"`{wanted[missing[0]]}` (`{missing[0]}`) draws its "
                "weights: the same seed gives other numbers, and no state of the reference fits",
                severity="error" if wrong else "warning",
                evidence=wrong[:1],
                data={"own": sorted(own), "missing": missing},
                fixes=fixes,
            )
            return


def _proven(
    source: Source, model: ast.ClassDef, evidence: tuple[Evidence, ...], fixes: tuple[Fix, ...]
) -> Finding:
    first = next(iter(_parameters(model)), None)
    return RULE.finding(
        source.place(first[1] if first is not None else model),
        "the weights that ModelNew draws are not those that the reference draws from the same "
        f"seed: {evidence[0].text}",
        confidence="proven",
        evidence=evidence,
        fixes=fixes,
    )


def _drawn_anew(
    source: Source, model: ast.ClassDef, reference: Reference, wrong: tuple[Evidence, ...]
) -> Iterator[Finding]:
    """Report a layer's weights that are drawn again where the reference leaves them."""
    for node in nodes_under(model):
        if isinstance(node, ast.Call) and DRAWS.fullmatch(ast.unparse(node.func)):
            if "init." not in reference.text and not _own_recipe(node):
                yield RULE.finding(
                    source.place(node),
                    f"`{ast.unparse(node)[:80]}` draws weights anew, which the reference leaves as "
                    "its layer makes them: the same seed gives other numbers",
                    severity="error" if wrong else "warning",
                    evidence=wrong[:1],
                    fixes=_as_drawn(source, model, node),
                )
                return


def _as_drawn(source: Source, model: ast.ClassDef, call: ast.Call) -> tuple[Fix, ...]:
    """Leave the weights as the layer draws them."""
    statement = next(
        (s for s in nodes_under(model) if isinstance(s, ast.Expr) and s.value is call), None
    )
    if statement is None:
        return ()
    edit = delete_statement(source, statement)
    return fix("leave the weights as their layer draws them", [edit])


DRAWS = re.compile(
    r"(torch\.)?nn\.init\.(normal|uniform|xavier_\w+|kaiming_\w+|trunc_normal|orthogonal)_"
)


def _own_recipe(call: ast.Call) -> bool:
    """Whether a parameter of its own is drawn just as torch's layers draw theirs.

    `nn.Linear` and the convolutions: `kaiming_uniform_(weight, a=sqrt(5))`, `uniform_(bias, -bound, bound)`; the
    recurrent layers: `uniform_(weight, -stdv, stdv)`. In the layer's order the same seed gives the same numbers.
    """
    match call.args:
        case [ast.Attribute(value=ast.Attribute() | ast.Subscript()), *_]:
            return False  # of a layer, which has drawn it already
    given = [*call.args[1:], *(k.value for k in call.keywords if k.arg in {"a", "b"})]
    text = [ast.unparse(value).replace(" ", "") for value in given]
    if last_name(call.func) == "kaiming_uniform_":
        return len(text) == 1 and bool(ROOT_OF_FIVE.fullmatch(text[0]))
    symmetric = len(text) == 2 and text[0] == f"-{text[1]}"
    return last_name(call.func) == "uniform_" and symmetric and not text[1][0].isdigit()


ROOT_OF_FIVE = re.compile(
    r"((math|np|numpy|torch)\.)?sqrt\(5(\.0?)?\)|5(\.0?)?\*\*(0?\.5|\(1/2\))|2\.236\d*"
)


def _layers(tree: ast.AST) -> dict[str, str]:
    """Return attributes that hold torch layers with parameters, with the layer's name."""
    found: dict[str, str] = {}
    for node in nodes_under(tree):
        match node:
            case ast.Assign(targets=[ast.Attribute(attr=name)], value=ast.Call(func=made)) if (
                last_name(made).startswith(LAYERS)
            ):
                found[name] = last_name(made)
    return found


def _draw(node: ast.AST) -> str:
    """Return which of `randn` and `rand` a parameter is drawn with; empty where with neither."""
    calls = (last_name(n.func) for n in nodes_under(node) if isinstance(n, ast.Call))
    return next((name for name in calls if name in {"randn", "rand"}), "")


def _parameters(model: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    for node in nodes_under(model):
        match node:
            case ast.Assign(
                targets=[ast.Attribute(attr=name)], value=ast.Call(func=made) as value
            ) if last_name(made) == "Parameter":
                yield name, value


_REFERENCE = """
class Model(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.conv = nn.Conv2d(i, o, 3)
    def forward(self, x):
        return self.conv(x)
"""
_BAD = """
import torch
import torch.nn as nn
class ModelNew(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(o, i, 3, 3))
    def forward(self, x):
        return ext.conv(x, self.weight)
"""
_GOOD = """
import torch
import torch.nn as nn
class ModelNew(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.conv = nn.Conv2d(i, o, 3)
    def forward(self, x):
        return ext.conv(x, self.conv.weight, self.conv.bias)
"""
_CONTEXT = Context(
    task=Task(name="t", title="t", source="file", reference=_REFERENCE, workloads=())
)
_WITH_SCALE = Context(
    task=Task(
        name="t",
        title="t",
        source="file",
        reference=_REFERENCE.replace(
            "    def forward", "        self.scale = nn.Parameter(torch.randn(o))\n    def forward"
        ),
        workloads=(),
    )
)
_SCALE = """
import torch
import torch.nn as nn
class ModelNew(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.inner = nn.Sequential(nn.Conv2d(i, o, 3))
        self.scale = nn.Parameter(torch.randn(o))
    def forward(self, x):
        return ext.scaled(self.inner(x), self.scale)
"""
_PROOF = Context(
    evidence=(Evidence(kind="mismatch", code="own-weights", text="wrong with its own weights"),)
)

RULE = Rule(
    code="NUM006",
    name="parameters-differ-from-reference",
    severity="error",
    summary="The weights are created in another way or order than in the reference, so the same "
    "seed "
    "gives different numbers and the check fails.",
    why="A grader seeds the generator, builds both modules, and compares what they compute; or "
    "it copies "
    "the reference's state by name. Either way the weights must be made by the same layers under "
    "the "
    "same names. Build the layer, and pass its `weight` and `bias` to the kernel.",
    bad=(
        Example(_BAD, _CONTEXT),
        Example(_BAD, _PROOF),
        Example(_SCALE, _CONTEXT),
        Example(
            _GOOD.replace(
                "    def forward", "        nn.init.normal_(self.conv.weight)\n    def forward"
            ),
            _CONTEXT,
        ),
    ),
    good=(
        Example(_GOOD, _CONTEXT),
        Example(_SCALE, _WITH_SCALE),
        Example(
            _BAD.replace("torch.randn(o, i, 3, 3)", "torch.empty(o, i, 3, 3)").replace(
                "    def forward",
                "        nn.init.kaiming_uniform_(self.weight, a=math.sqrt(5))\n    def forward",
            ),
            _CONTEXT,
        ),
    ),
    detects=("text", "evidence"),
    guards="Needs the reference's text, and only counts random draws that the reference doesn't make "
    "under the same name; a warning until a result differs. Parameters that are drawn by the layer's own recipe (`kaiming_uniform_` with "
    "`a=sqrt(5)`) are left to the comparison of the numbers.",
    mend="Makes the layer that the reference has, and takes the weights that it draws; or leaves a layer's weights as it draws them.",
    check=check,
)
__all__ = ["RULE", "Reference"]
