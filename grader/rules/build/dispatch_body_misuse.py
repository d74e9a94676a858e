"""BLD016: an AT_DISPATCH macro whose body is no lambda, or whose type is used outside of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grader.records import Context
from grader.rules.rule import Rule
from grader.source.analysis.diagnostics import confirming
from grader.source.code_edits import fix
from grader.source.cuda_code import Call, around, cuda_code, descendants, one_line, text, units

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

    from grader.records import Finding
    from grader.source import Source, Unit

KINDS = ("undefined-identifier", "syntax", "no-overload", "type-not-allowed", "no-conversion")


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Look at the body of each dispatch, and at uses of `scalar_t` that none provides."""
    for unit in units(source):
        for call in cuda_code(unit).calls:
            if call.name.startswith("AT_DISPATCH") and call.arguments:
                yield from _body(unit, call, context)
                yield from _lost_return(unit, call)
        yield from _outside(unit, context)


def _body(unit: Unit, call: Call, context: Context) -> Iterator[Finding]:
    body = call.arguments[-1]
    if _lambda(body) is not None or body.type not in {"call_expression", "compound_statement"}:
        return
    if call.node.has_error:
        return
    place = unit.place(body)
    evidence = confirming(context, KINDS, lines=(place.line, unit.place(call.node).line))
    edits = [
        unit.edit(body.start_byte, body.start_byte, "[&] { "),
        unit.edit(body.end_byte, body.end_byte, "; }"),
    ]
    yield RULE.finding(
        place,
        f"the last argument of {call.name} must be a lambda, `[&] {{ ... }}`; scalar_t does not "
        "exist outside of one",
        confidence="proven" if evidence else "likely",
        evidence=evidence,
        fixes=fix("make the body a lambda", edits, certain=True),
    )


def _lambda(node: Node) -> Node | None:
    while node.type == "parenthesized_expression" and node.named_child_count == 1:
        node = node.named_children[0]
    return node if node.type in {"lambda_expression", "identifier"} else None


def _lost_return(unit: Unit, call: Call) -> Iterator[Finding]:
    """Find a value returned inside the lambda, where the function itself returns nothing."""
    body = _lambda(call.arguments[-1])
    function = cuda_code(unit).function(call.node)
    parent = call.node.parent
    if body is None or function is None or function.body is None or parent is None:
        return
    if parent.type != "expression_statement" or function.return_type == "void":
        return
    inside = [node for node in descendants(body, "return_statement") if node.named_child_count]
    after = [
        node
        for node in cuda_code(unit).of("return_statement")
        if call.node.end_byte <= node.start_byte < function.body.end_byte
    ]
    if inside and not after and not any("preproc" in outer.type for outer in around(call.node)):
        yield RULE.finding(
            unit.place(inside[0]),
            f"this returns from the lambda only; {function.name} itself ends without a value",
            predicts="raises",
        )


def _outside(unit: Unit, context: Context) -> Iterator[Finding]:
    code = cuda_code(unit)
    if any(code.of("preproc_function_def")):
        return
    for node in code.names.get("scalar_t", ()):
        function = code.function(node)
        if function is None or function.runs != "host" or function.template_parameters:
            continue
        if any(_provides(outer) for outer in around(node)) or node.parent is None:
            continue
        if _defined(unit) or node.has_error:
            return
        place = unit.place(node)
        evidence = confirming(context, KINDS, ("scalar_t",))
        yield RULE.finding(
            place,
            f"scalar_t is used in {function.name} outside of an AT_DISPATCH macro, where no such "
            "type exists",
            confidence="proven" if evidence else "likely",
            evidence=evidence,
        )
        return


def _provides(node: Node) -> bool:
    """Whether a construct brings a `scalar_t` of its own: a dispatch macro or a template."""
    if node.type == "call_expression":
        return "DISPATCH" in one_line(node.child_by_field_name("function"))
    return node.type == "template_declaration" or (
        node.type == "lambda_expression" and "scalar_t" in one_line(node, 200).split("{")[0]
    )


def _defined(unit: Unit) -> bool:
    code = cuda_code(unit)
    return any(
        "scalar_t" in text(node).split("=")[0]
        for node in code.of("alias_declaration", "type_definition", "preproc_def")
    )


RULE = Rule(
    code="BLD016",
    name="dispatch-body-misuse",
    severity="error",
    summary="The AT_DISPATCH macro is used in a way that does not compile or silently skips work.",
    why="The macro runs its last argument, a lambda, with `scalar_t` refilled for the tensor's "
    "type. Without a lambda, or outside of it, that type does not exist; a return inside it only "
    "leaves the lambda.",
    bad=(
        """
template <typename T> void go(torch::Tensor x) {}
torch::Tensor f(torch::Tensor x) {
    AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "f", go<scalar_t>(x));
    return x;
}
""",
        """
template <typename T> __global__ void k(T* p) { p[0] = T(1); }
torch::Tensor f(torch::Tensor x) {
    k<scalar_t><<<1, 32>>>(x.data_ptr<scalar_t>());
    return x;
}
""",
    ),
    good="""
template <typename scalar_t> __global__ void k(scalar_t* p) { p[0] = scalar_t(1); }
template <typename scalar_t> void go(torch::Tensor x) {
    k<scalar_t><<<1, 32>>>(x.data_ptr<scalar_t>());
}
torch::Tensor f(torch::Tensor x) {
    AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "f", ([&] { go<scalar_t>(x); }));
    AT_DISPATCH_FLOATING_TYPES_AND_HALF(x.scalar_type(), "f", [&]() {
        using acc_t = at::acc_type<scalar_t, true>;
        k<scalar_t><<<1, 32>>>(x.data_ptr<scalar_t>());
    });
    return x;
}
torch::Tensor g(torch::Tensor x) {
    return AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "g", [&] { return x; });
}
""",
    detects=("text", "build"),
    languages=("cuda",),
    guards="Lambdas with or without parentheses are fine, and so are templates and aliases that "
    "are called scalar_t themselves.",
    fix="Makes the body a lambda.",
    check=check,
)
