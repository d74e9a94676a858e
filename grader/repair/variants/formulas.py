"""Other formulas that an author may have meant: functions, missing terms, roots, epsilons."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from grader.repair.variants.idle import idle_elements
from grader.repair.variants.kinds import kind_of
from grader.repair.variants.sites import INTEGERS, REALS, Option, Scope, is_target, parts, stored_in
from grader.source.cuda_code import descendants, read_call, text

if TYPE_CHECKING:
    from tree_sitter import Node

FUNCTIONS = {
    "fmaxf": "fminf",
    "fminf": "fmaxf",
    "fmax": "fmin",
    "fmin": "fmax",
    "max": "min",
    "min": "max",
    "sqrtf": "rsqrtf",
    "rsqrtf": "sqrtf",
    "sqrt": "rsqrt",
    "rsqrt": "sqrt",
    "expf": "expm1f",
    "expm1f": "expf",
    "logf": "log1pf",
    "log1pf": "logf",
    "sinf": "cosf",
    "cosf": "sinf",
    "floorf": "ceilf",
    "ceilf": "floorf",
    "__shfl_down_sync": "__shfl_xor_sync",
    "__shfl_up_sync": "__shfl_down_sync",
    "torch::empty": "torch::zeros",
    "torch::empty_like": "torch::zeros_like",
    "at::empty": "at::zeros",
    "at::empty_like": "at::zeros_like",
}
NEAR = 4
"""How many of the variables that were declared last may be what a formula lacks."""
FACTORS = {
    "identifier",
    "number_literal",
    "subscript_expression",
    "field_expression",
    "call_expression",
    "parenthesized_expression",
}
"""Expressions that need no parentheses as a part of a product."""


def call(scope: Scope, node: Node) -> Iterator[Option]:
    """Another function of the same kind, or its argument alone."""
    del scope
    if node.type != "call_expression" or any(c.type == "kernel_call_syntax" for c in node.children):
        return
    made = read_call(node)
    function = node.child_by_field_name("function")
    if function is None or made.object is not None:
        return
    after = (node.text or b"")[function.end_byte - node.start_byte :].decode("utf-8", "replace")
    if made.name in FUNCTIONS:
        yield f"{FUNCTIONS[made.name]}{after}", 1.5 if "empty" in made.name else 2.5
    if made.name in {"fabsf", "fabs", "expf", "logf", "sqrtf", "rsqrtf", "tanhf"}:
        yield f"({text(made.arguments[0])})" if made.arguments else "0.0f", 4.0
    if made.name in {"fabsf", "fabs", "abs"} and made.arguments:
        yield f"({text(made.arguments[0])}) * ({text(made.arguments[0])})", 3.0
    yield from _epsilon(node, made.name)


def _epsilon(node: Node, name: str) -> Iterator[Option]:
    """`sqrtf(v + eps)`: the epsilon outside."""
    inner = next(iter(descendants(node, "binary_expression")), None)
    if name in {"sqrtf", "sqrt"} and inner is not None and parts(inner)[1] == "+":
        left, _, right = parts(inner)
        yield f"({name}({left}) + {right})", 2.0


def epsilon(scope: Scope, node: Node) -> Iterator[Option]:
    """`sqrtf(v) + eps`: the epsilon inside."""
    del scope
    if node.type != "binary_expression":
        return
    left, sign, right = parts(node)
    found = re.fullmatch(r"(sqrtf?|rsqrtf?)\((.*)\)", left, re.DOTALL)
    if sign == "+" and found and _balanced(found[2]):
        yield f"{found[1]}({found[2]} + {right})", 1.5


def _balanced(words: str) -> bool:
    depth = 0
    for letter in words:
        depth += (letter == "(") - (letter == ")")
        if depth < 0:
            return False
    return depth == 0


def result(scope: Scope, node: Node) -> Iterator[Option]:
    """Multiply or divide what is stored by a size: a mean that forgets to divide, a forgotten sign."""
    if scope.function.runs == "host" or not _is_result(scope, node):
        return
    words = text(node)
    whole = words if node.type in FACTORS else f"({words})"
    for name in scope.integer_parameters:
        yield f"{whole} / {name}", 1.5
        yield f"{whole} * {name}", 3.0
    for name in _counts(scope, node):
        yield f"{whole} / {name}", 2.0
    for name in scope.names({"float", "double", "scalar_t"}, scope.function.node.start_byte):
        yield f"{whole} * {name}", 3.0
        yield f"{whole} + {name}", 3.5
    yield from ((f"{whole} + {element}", 1.5) for element in idle_elements(scope, node.start_byte))
    yield f"-{whole}", 2.5
    yield f"sqrtf({whole})", 3.5


def _counts(scope: Scope, node: Node) -> list[str]:
    """Return the kernel's own integers that a stored value may have to be divided by."""
    given = {p.name for p in scope.function.parameters}
    known = scope.names(INTEGERS, node.start_byte)
    return [name for name in known if name not in given][-NEAR:]


def _is_result(scope: Scope, node: Node) -> bool:
    parent = node.parent
    if parent is None:
        return False
    arrays = {name for name, _ in scope.pointers}
    if parent.type == "assignment_expression":
        is_right = parent.child_by_field_name("right") == node
        return is_right and (stored_in(parent) in arrays or _through_pointer(parent, arrays))
    outer = parent.parent
    if parent.type == "argument_list" and outer is not None and outer.type == "call_expression":
        made = read_call(outer)
        return made.name == "atomicAdd" and len(made.arguments) == 2 and made.arguments[1] == node
    return False


def _through_pointer(node: Node, arrays: set[str]) -> bool:
    left = node.child_by_field_name("left")
    return (
        left is not None
        and left.type == "pointer_expression"
        and text(left).strip("*() ") in arrays
    )


def term(scope: Scope, node: Node) -> Iterator[Option]:
    """Add what a value lacks: `- mean`, `+ eps`, `/ sum`, `/ n`."""
    if (
        scope.function.runs == "host"
        or kind_of(scope, node) != "real"
        or not _is_value(scope, node)
    ):
        return
    whole = text(node) if node.type in FACTORS else f"({text(node)})"
    inside = node.parent is not None and node.parent.type == "binary_expression"
    begin, end = ("(", ")") if inside else ("", "")
    used = {text(inner) for inner in descendants(node, "identifier")}
    for name in _reals(scope, node):
        if name not in used:
            added = text(node) if parts(node)[1] in {"*", "/", "+", "-"} else whole
            yield from ((f"{begin}{added} {sign} {name}{end}", 3.0) for sign in "-+")
            yield from ((f"{begin}{whole} {sign} {name}{end}", 3.0) for sign in "/*")
    for name in scope.integer_parameters:
        if name not in used:
            yield f"{begin}{whole} / {name}{end}", 2.5


def _reals(scope: Scope, node: Node) -> list[str]:
    """Return the real numbers that are known there: parameters, and what was declared last."""
    known = scope.names(REALS, node.start_byte)
    given = {p.name for p in scope.function.parameters}
    own = [name for name in known if name not in given]
    return [name for name in known if name in given] + own[-NEAR:]


def _is_value(scope: Scope, node: Node) -> bool:
    """Whether a node is a whole value: what is assigned, returned, given to a function, or an element in a product."""
    parent = node.parent
    if parent is None or is_target(node):
        return False
    if parent.type in {"assignment_expression", "init_declarator", "return_statement"}:
        return True
    if parent.type == "argument_list":
        outer = parent.parent
        return (
            outer is not None
            and outer.type == "call_expression"
            and kind_of(scope, outer) == "real"
        )
    factor = parent.type == "binary_expression" and parts(parent)[1] in {"*", "/"}
    return factor and node.type == "subscript_expression"


def root(scope: Scope, node: Node) -> Iterator[Option]:
    """Take lengths rather than their squares: `a / sqrt(v)` for `a / v`, `sqrt(a) - sqrt(b)` for `a - b`."""
    if node.type != "binary_expression" or kind_of(scope, node) != "real":
        return
    left, sign, right = parts(node)
    if sign == "/" and scope.function.runs != "host":
        below = kind_of(scope, node.child_by_field_name("right"))
        yield f"{left} / sqrt({right if below == 'real' else f'(float)({right})'})", 2.5
    if sign == "-" and re.fullmatch(r"[A-Za-z_]\w* [A-Za-z_]\w*", f"{left} {right}"):
        yield f"sqrt({left}) - sqrt({right})", 3.0


def divisor(scope: Scope, node: Node) -> Iterator[Option]:
    """Divide by another size, its square or its cube: the whole window of a pool, not what lies inside."""
    if scope.function.runs == "host" or node.type != "binary_expression":
        return
    left, sign, right = parts(node)
    below = node.child_by_field_name("right")
    if sign != "/" or kind_of(scope, node) != "real" or kind_of(scope, below) == "real":
        return
    for name in scope.integer_parameters:
        for power in (1, 2, 3):
            factors = " * ".join([name] * power)
            if factors != right:
                yield f"{left} / {f'({factors})' if power > 1 else factors}", 2.4 + 0.2 * power


def gelu(scope: Scope, node: Node) -> Iterator[Option]:
    """Take GELU's other form: the error function for the tanh that comes near it, and the other way round."""
    if node.type != "call_expression" or scope.function.runs == "host":
        return
    name = read_call(node).last
    if name in {"tanhf", "tanh"} and "0.044715" in scope.unit.text:
        for v in _multiplied(scope, node):
            yield f"erff({v} * 0.70710678118654752f)", 1.5
    if name in {"erff", "erf"}:
        for v in _multiplied(scope, node):
            cube = f"{v} + 0.044715f * {v} * {v} * {v}"
            yield f"tanhf(0.7978845608028654f * ({cube}))", 1.5


def _multiplied(scope: Scope, node: Node) -> list[str]:
    """Return the variables that the value around a call is a product of, or those that the call's own value is made of."""
    outer = node
    while outer.parent is not None and outer.parent.type in {
        "binary_expression",
        "parenthesized_expression",
    }:
        outer = outer.parent
    inside = list(descendants(node, "identifier"))
    around = [n for n in descendants(outer, "identifier") if n not in inside]
    return _real_names(scope, around) or _real_names(scope, [*inside, *_made_of(scope, inside)])


def _real_names(scope: Scope, nodes: Sequence[Node]) -> list[str]:
    return list(dict.fromkeys(text(n) for n in nodes if kind_of(scope, n) == "real"))


def _made_of(scope: Scope, nodes: Sequence[Node]) -> Iterator[Node]:
    """Yield what the values of these variables are made of, one step back."""
    names = {text(node) for node in nodes}
    body = scope.function.body
    for declared in descendants(body, "init_declarator") if body is not None else ():
        value = declared.child_by_field_name("value")
        if value is not None and text(declared.child_by_field_name("declarator")) in names:
            yield from descendants(value, "identifier")


def square(scope: Scope, node: Node) -> Iterator[Option]:
    """`s += v * v` for `s += v` and for `s += fabsf(v)`."""
    parent = node.parent
    if node.type == "call_expression" and scope.function.runs != "host":
        made = read_call(node)
        if made.last in {"fabsf", "fabs", "abs"} and len(made.arguments) == 1:
            value = text(made.arguments[0])
            value = value if made.arguments[0].type in FACTORS else f"({value})"
            yield f"({value} * {value})", 2.0
    if node.type not in {"identifier", "subscript_expression"} or kind_of(scope, node) != "real":
        return
    if parent is None or parent.type != "assignment_expression" or is_target(node):
        return
    if parts(parent)[1] == "+=":
        yield f"{text(node)} * {text(node)}", 2.5
