"""NUM006: weights are made in another way than in the reference."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from grader.records import Confidence, Context, Evidence, Finding, Fix, Task
from grader.records.observed import wrong_results
from grader.rules.rule import Example, Rule
from grader.source import Source, nodes_under
from grader.source.analysis.own_parameters import (
    DRAWS,
    LAYERS,
    biases,
    draw,
    drawn_ones,
    layers,
    own_recipe,
    parameters,
)
from grader.source.analysis.reference_text import Reference, last_name, reference_of
from grader.source.code_edits import delete_statement, fix


@dataclass(frozen=True)
class _Pair:
    """An answer's model beside the reference."""

    source: Source
    model: ast.ClassDef
    reference: Reference
    wrong: tuple[Evidence, ...]
    """What showed that results were wrong."""

    def finding(
        self,
        node: ast.AST,
        message: str,
        confidence: Confidence = "likely",
    ) -> Finding:
        """Return a finding: an error where results were wrong."""
        return RULE.finding(
            self.source.place(node),
            message,
            severity="error" if self.wrong else "warning",
            confidence=confidence,
            evidence=self.wrong[:1],
        )


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Look for parameters of its own making where the reference has a layer."""
    reference = reference_of(source, context)
    model = source.classes.get("ModelNew")
    proof = tuple(e for e in context.evidence if e.code == "own-weights")
    if model is not None and proof:
        yield _proven(source, model, proof)
        return
    if reference is None or model is None:
        return
    pair = _Pair(source, model, reference, wrong_results(context))
    yield from _drawn_anew(source, model, reference, pair.wrong)
    wanted = layers(reference.tree)
    if not wanted:
        yield from _without_layers(pair)
    if not wanted or set(wanted) <= set(layers(model)):
        return
    other = next(_drawn_otherwise(pair, wanted), None)
    if other is not None:
        yield other
        return
    yield from _without_layers(pair)


def _drawn_otherwise(pair: _Pair, wanted: Mapping[str, str]) -> Iterator[Finding]:
    """Report parameters that no layer draws, where the reference has layers that the answer lacks."""
    model, reference = pair.model, pair.reference
    alike = {name: draw(node) for name, node in parameters(reference.tree)}
    missing = [name for name in wanted if name not in layers(model)]
    for name, node in parameters(model):
        if draw(node) and alike.get(name) != draw(node) and missing:
            yield pair.finding(
                node,
                f"`{name}` is drawn here in another way than the reference's `{wanted[missing[0]]}` (`{missing[0]}`) draws its weights: "
                f"the same seed gives other numbers, and no state of the reference fits{_too_few(reference, model)}",
            )


def _too_few(reference: Reference, model: ast.ClassDef) -> str:
    """Say that the reference adds more biases than the answer has."""
    theirs, own = biases(reference.tree), biases(model)
    if len(own) >= len(theirs):
        return ""
    has = "none" if not own else f"{len(own)} of them"
    return f"; and the reference adds {', '.join(theirs)}, ModelNew has {has}"


def _without_layers(pair: _Pair) -> Iterator[Finding]:
    """Report weights of a model that makes no layer at all, where the reference does."""
    made = [last_name(n.func) for n in nodes_under(pair.model) if isinstance(n, ast.Call)]
    theirs = sorted(name for name in pair.reference.names() if name.startswith(LAYERS))
    unnamed = next(drawn_ones(pair.model), None)
    if unnamed is None or not theirs or any(name.startswith(LAYERS) for name in made):
        return
    yield pair.finding(
        unnamed,
        f"`{ast.unparse(unnamed)[:80]}` is made where the reference has `{theirs[0]}`, which draws its "
        "weights otherwise: the same seed gives other numbers, and no state of the reference fits",
        "likely" if pair.wrong else "possible",
    )


def _proven(source: Source, model: ast.ClassDef, evidence: tuple[Evidence, ...]) -> Finding:
    first = next(iter(parameters(model)), None)
    return RULE.finding(
        source.place(first[1] if first is not None else model),
        f"the weights that ModelNew draws are not those that the reference draws from the same seed: {evidence[0].text}",
        evidence=evidence,
    )


def _drawn_anew(
    source: Source, model: ast.ClassDef, reference: Reference, wrong: tuple[Evidence, ...]
) -> Iterator[Finding]:
    """Report a layer's weights that are drawn again where the reference leaves them."""
    for node in nodes_under(model):
        if isinstance(node, ast.Call) and DRAWS.fullmatch(ast.unparse(node.func)):
            if "init." not in reference.text and not own_recipe(node):
                yield RULE.finding(
                    source.place(node),
                    f"`{ast.unparse(node)[:80]}` draws weights anew, which the reference leaves as "
                    "its layer makes them: the same seed gives other numbers",
                    severity="error" if wrong else "warning",
                    confidence="likely",
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

RULE = Rule(
    code="NUM006",
    name="parameters-differ-from-reference",
    severity="error",
    summary="The weights are created in another way or order than in the reference, so the same seed gives different numbers and the "
    "check fails.",
    why="A grader seeds the generator, builds both modules, and compares what they compute; or it copies the reference's state by name. "
    "Either way the weights must be made by the same layers under the same names. Build the layer, and pass its `weight` and `bias` "
    "to the kernel.",
    bad=Example(_BAD, _CONTEXT),
    good=Example(_GOOD, _CONTEXT),
    detects=("text", "evidence"),
    guards="Needs the reference's text, and only counts random draws that the reference doesn't make "
    "under the same name; a warning until a result differs. Parameters that are drawn by the layer's own recipe (`kaiming_uniform_` with "
    "`a=sqrt(5)`) are left to the comparison of the numbers.",
    fix="Makes the layer that the reference has, and takes the weights that it draws; or leaves a layer's weights as it draws them.",
    check=check,
    conditions="other weights than those that were drawn",
)
__all__ = ["RULE", "Reference"]
