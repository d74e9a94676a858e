"""NUM006: weights are made in another way than in the reference."""

import ast
from collections.abc import Iterator

from grader.records import Confidence, Context, Evidence, Finding, Fix
from grader.records.observed import wrong_results
from grader.rules.page_file import rule_of
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

Claim = tuple[ast.AST, str, Confidence, tuple[Fix, ...]]
"""Place of the weights' creation, sentence, confidence, and fix."""


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Look for own parameters where the reference has a layer."""
    reference, model = reference_of(source, context), source.module.classes.get("ModelNew")
    proof = tuple(item for item in context.evidence if item.code == "own-weights")
    if model is None:
        return
    if proof:
        first = next((node for _, node in parameters(model)), model)
        said = f"the weights that ModelNew draws are not those that the reference draws from the same seed: {proof[0].text}"
        yield RULE.finding(source.place(first), said, evidence=proof)
        return
    wrong = wrong_results(context)
    for node, message, confidence, fixes in (
        _claims(source, model, reference, wrong) if reference else ()
    ):
        yield RULE.finding(
            source.place(node),
            message,
            severity="error" if wrong else "warning",
            confidence=confidence,
            evidence=wrong[:1],
            fixes=fixes,
        )


def _claims(
    source: Source, model: ast.ClassDef, reference: Reference, wrong: tuple[Evidence, ...]
) -> Iterator[Claim]:
    yield from _drawn_anew(source, model, reference)
    wanted, own = layers(reference.tree), layers(model)
    missing = [name for name in wanted if name not in own]
    if not wanted or missing:
        other = next(_drawn_otherwise(model, reference, missing), None)
        yield from (other,) if other else _without_layers(model, reference, sure=bool(wrong))


def _drawn_anew(source: Source, model: ast.ClassDef, reference: Reference) -> Iterator[Claim]:
    """Report a layer's weights that are redrawn, unlike in the reference."""
    nodes = list(nodes_under(model))
    for node in nodes if "init." not in reference.text else ():
        called = isinstance(node, ast.Call) and DRAWS.fullmatch(ast.unparse(node.func))
        if isinstance(node, ast.Call) and called and not own_recipe(node):
            statements = (s for s in nodes if isinstance(s, ast.Expr) and s.value is node)
            edits = [delete_statement(source, one) for one in statements]
            fixes = fix("leave the weights as their layer draws them", edits[:1])
            said = f"`{ast.unparse(node)[:80]}` draws weights anew, which the reference leaves as its layer makes them: the same seed gives other numbers"
            yield node, said, "likely", fixes
            return


def _drawn_otherwise(
    model: ast.ClassDef, reference: Reference, missing: list[str]
) -> Iterator[Claim]:
    """Report own parameters in place of layers of the reference."""
    alike = {name: draw(node) for name, node in parameters(reference.tree)}
    theirs, own = biases(reference.tree), biases(model)
    has = f"{len(own)} of them" if own else "none"
    few = f"; and the reference adds {', '.join(theirs)}, ModelNew has {has}" if len(own) < len(theirs) else ""  # fmt: skip
    for name, node in parameters(model) if missing else ():
        if draw(node) and alike.get(name) != draw(node):
            layer = layers(reference.tree)[missing[0]]
            said = f"`{name}` is drawn here in another way than the reference's `{layer}` (`{missing[0]}`) draws its weights: the same seed gives other numbers, and no state of the reference fits{few}"
            yield node, said, "likely", ()


def _without_layers(model: ast.ClassDef, reference: Reference, *, sure: bool) -> Iterator[Claim]:
    """Report weights of a model that makes no layer at all, where the reference does."""
    made = [last_name(n.func) for n in nodes_under(model) if isinstance(n, ast.Call)]
    theirs = sorted(name for name in reference.names() if name.startswith(LAYERS))
    unnamed = next(drawn_ones(model), None)
    if unnamed is not None and theirs and not any(name.startswith(LAYERS) for name in made):
        said = f"`{ast.unparse(unnamed)[:80]}` is made where the reference has `{theirs[0]}`, which draws its weights otherwise: the same seed gives other numbers, and no state of the reference fits"
        yield unnamed, said, "likely" if sure else "possible", ()


RULE = rule_of(__file__, check)
