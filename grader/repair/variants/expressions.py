"""Other expressions that an author may have meant: one function for each kind of slip."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from grader.repair.variants.sites import (
    INTEGERS,
    REALS,
    Scope,
    is_target,
    loop_of,
    stored_in,
)
from grader.rules.cuda_code import around, descendants, read_call, text

if TYPE_CHECKING:
    from tree_sitter import Node

Option = tuple[str, float]
"""Another text, and how unlikely it is."""
Operator = Callable[[Scope, "Node"], Iterator[Option]]

COMPARISONS = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}
ARITHMETIC = {"+": "-", "-": "+", "*": "/", "/": "*", "%": "/"}
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
CONSTANTS = (
    0.5,
    1.0,
    2.0,
    3.0,
    6.0,
    20.0,
    0.044715,
    0.7978845608028654,
    0.7071067811865476,
    1.4142135623730951,
    1.702,
    0.6931471805599453,
    1.4426950408889634,
    1.0507009873554805,
    1.6732632423543772,
    0.01,
    0.1,
    1e-5,
    1e-6,
    1e-8,
    1e-12,
)
"""Numbers that formulas of this field are made of."""


def comparison(scope: Scope, node: Node) -> Iterator[Option]:
    """`<` for `<=`, a bound that the condition leaves out, a part of it that is too much."""
    if node.type != "binary_expression":
        return
    left, sign, right = _parts(node)
    if sign in COMPARISONS:
        yield f"{left} {COMPARISONS[sign]} {right}", 1.0 if sign not in {"==", "!="} else 4.0
    if sign == "&&":
        yield left, 5.0
        yield right, 5.0
        yield f"{left} || {right}", 5.0
    if sign == "||":
        yield f"{left} && {right}", 3.0
    outer = node.parent
    chained = outer is not None and outer.type == "binary_expression" and "&&" in _parts(outer)[1]
    if not chained and (sign == "&&" or sign in {">=", "<"}):
        yield from _bounded(scope, node)


def _bounded(scope: Scope, node: Node) -> Iterator[Option]:
    """Add the bound that a variable lacks: `v >= 0` without `v < n`, or the other way round."""
    words = text(node)
    low = set(re.findall(r"\b([A-Za-z_]\w*)\s*>=\s*0\b", words))
    high = set(re.findall(r"\b([A-Za-z_]\w*)\s*<\s*\w", words))
    for name in sorted(low - high):
        for bound in scope.integer_parameters:
            if bound != name and not re.search(rf"<\s*{bound}\b", words):
                yield f"{words} && {name} < {bound}", 1.5
    for name in sorted(high - low):
        yield f"{words} && {name} >= 0", 3.0


def arithmetic(scope: Scope, node: Node) -> Iterator[Option]:
    """Another sign, operands the other way round, a division that is rounded up."""
    if node.type != "binary_expression":
        return
    left, sign, right = _parts(node)
    if sign not in ARITHMETIC:
        return
    yield f"{left} {ARITHMETIC[sign]} {right}", 3.0
    if sign in {"-", "/"}:
        yield f"{right} {sign} {left}", 4.0
    if sign == "/" and _is_integer(scope, node):
        yield f"({left} + {right} - 1) / {right}", 1.2
    if sign in {"+", "-"}:
        yield left, 4.0
    if sign in {"*", "/"}:
        yield left, 3.5
    if sign in {"*", "-"}:
        yield right, 4.5
    if sign == "/" and re.fullmatch(r"\(?[A-Za-z_]\w*\)?", right) and not _is_integer(scope, node):
        yield f"{left} / ({right} - 1)", 4.0


def _is_integer(scope: Scope, node: Node) -> bool:
    """Whether a division is one of integers, as far as the names in it tell."""
    names = [text(n) for n in descendants(node, "identifier")]
    kinds = {scope.type_of(name) for name in names} - {""}
    if kinds & REALS or re.search(r"\d\.\d*f?|\d+f\b|\(float\)|<float>|<double>", text(node)):
        return False
    built_in = any(name in {"blockDim", "gridDim", "threadIdx"} for name in names)
    return bool(kinds & INTEGERS) or built_in or ".size(" in text(node) or "numel" in text(node)


def literal(scope: Scope, node: Node) -> Iterator[Option]:
    """Another number: one more or less, the start value of another reduction, a well-known constant."""
    del scope
    if node.type != "number_literal":
        return
    words = text(node)
    if re.fullmatch(r"\d+", words):
        yield from _whole(int(words))
    elif re.fullmatch(r"0x[0-9a-fA-F]+u?", words):
        if words.lower().rstrip("u") != "0xffffffff":
            yield "0xffffffff", 1.5
    else:
        yield from _real(words)


def _whole(value: int) -> Iterator[Option]:
    near = {value + 1: 2.5, value - 1: 2.5, value * 2: 2.5}
    if value % 2 == 0 and value:
        near[value // 2] = 2.5
    if value in {0, 1}:
        near |= {2: 4.0, 3: 4.5} if value else {2: 4.5, 32: 6.0}
    if value in {8, 16, 31, 32, 33, 64}:
        near |= {16: 2.0, 31: 2.5, 32: 2.0}
    for other, cost in near.items():
        if other >= 0 and other != value:
            yield str(other), cost


def _real(words: str) -> Iterator[Option]:
    suffix = "f" if words[-1] in "fF" else ""
    try:
        value = float(words.rstrip("fFlL"))
    except ValueError:
        return
    if value == 0:
        yield "-INFINITY", 2.0
        yield "INFINITY", 2.5
        yield f"1.0{suffix}", 2.0
    elif abs(value) > 1e9:
        yield f"0.0{suffix}", 2.5
        yield "-INFINITY", 2.0
        yield "INFINITY", 2.5
    elif value == 1:
        yield f"0.0{suffix}", 2.5
    for other in CONSTANTS:
        if (
            other != value
            and value
            and (abs(other / value - 1) < 0.5 or (value < 0.01 and other < 0.01))
        ):
            yield f"{other!r}{suffix}", 2.0 if abs(other / value - 1) < 0.2 else 3.0
    if value:
        for factor in (0.5, 2.0):
            yield f"{value * factor!r}{suffix}", 3.5


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
    yield from _epsilon(node, made.name)


def _epsilon(node: Node, name: str) -> Iterator[Option]:
    """`sqrtf(v + eps)`: the epsilon outside."""
    inner = next(iter(descendants(node, "binary_expression")), None)
    if name in {"sqrtf", "sqrt"} and inner is not None and _parts(inner)[1] == "+":
        left, _, right = _parts(inner)
        yield f"({name}({left}) + {right})", 2.0


def epsilon(scope: Scope, node: Node) -> Iterator[Option]:
    """`sqrtf(v) + eps`: the epsilon inside."""
    del scope
    if node.type != "binary_expression":
        return
    left, sign, right = _parts(node)
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


def assignment(scope: Scope, node: Node) -> Iterator[Option]:
    """`+=` for `=`, and the other way round; a step of a loop that is too short or too long."""
    del scope
    if node.type != "assignment_expression":
        return
    left, sign, right = _parts(node)
    if loop_of(node) is not None:
        if sign == "+=":
            for step in ("1", "blockDim.x", "gridDim.x", "blockDim.x * gridDim.x", "32"):
                if step != right:
                    yield f"{left} += {step}", 2.5
        return
    if sign == "=" and not stored_in(node):
        yield f"{left} += {right}", 2.0
        yield f"{left} *= {right}", 4.0
    elif sign == "=":
        yield f"{left} += {right}", 4.0
    if sign in {"+=", "*=", "-="}:
        for other in ("=", "+=", "-=", "*="):
            if other != sign:
                yield f"{left} {other} {right}", 3.0


def step(scope: Scope, node: Node) -> Iterator[Option]:
    """`i += blockDim.x` for `i++` in the head of a loop."""
    if node.type != "update_expression" or loop_of(node) is None:
        return
    name = text(node.child_by_field_name("argument"))
    if scope.function.runs == "host":
        return
    for width in ("blockDim.x", "blockDim.x * gridDim.x", "32"):
        yield f"{name} += {width}", 3.0


def result(scope: Scope, node: Node) -> Iterator[Option]:
    """Multiply or divide what is stored by a size: a mean that forgets to divide, a forgotten sign."""
    if scope.function.runs == "host" or not _is_result(scope, node):
        return
    words = text(node)
    whole = words if re.fullmatch(r"[\w.\[\]]+", words) else f"({words})"
    for name in scope.integer_parameters:
        yield f"{whole} / {name}", 1.5
        yield f"{whole} * {name}", 3.0
    for name in scope.names({"float", "double", "scalar_t"}, scope.function.node.start_byte):
        yield f"{whole} * {name}", 3.0
        yield f"{whole} + {name}", 3.5
    yield f"-{whole}", 2.5
    yield f"sqrtf({whole})", 3.5


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


def name(scope: Scope, node: Node) -> Iterator[Option]:
    """Another variable of the same kind: the wrong size in a comparison or an index."""
    if node.type != "identifier" or is_target(node):
        return
    own, kind = text(node), scope.type_of(text(node))
    if kind in INTEGERS and _in_index(node):
        for other in scope.names(INTEGERS, node.start_byte):
            if other != own:
                yield other, 3.5 if other in scope.integer_parameters else 4.5
    elif kind in REALS:
        for other in scope.names({kind}, node.start_byte)[-5:]:
            if other != own:
                yield other, 4.5
    else:
        yield from _other_pointer(scope, own)


def _in_index(node: Node) -> bool:
    kinds = {"subscript_argument_list", "binary_expression", "init_declarator", "argument_list"}
    return any(outer.type in kinds for outer in list(around(node))[:3])


def _other_pointer(scope: Scope, own: str) -> Iterator[Option]:
    kinds = dict(scope.pointers)
    for other, kind in scope.pointers:
        if own in kinds and other != own and kind == kinds[own]:
            yield other, 4.0


def built_in(scope: Scope, node: Node) -> Iterator[Option]:
    """Another of the thread's coordinates."""
    if node.type != "field_expression" or scope.function.runs == "host" or is_target(node):
        return
    found = re.fullmatch(r"(threadIdx|blockIdx|blockDim|gridDim)\.([xyz])", text(node))
    if not found:
        return
    owner, axis = found.groups()
    pairs = {
        "threadIdx": "blockIdx",
        "blockIdx": "threadIdx",
        "blockDim": "gridDim",
        "gridDim": "blockDim",
    }
    yield f"{pairs[owner]}.{axis}", 4.0
    if axis != "z":
        yield f"{owner}.{'y' if axis == 'x' else 'x'}", 4.0
    if owner == "threadIdx" and axis == "x":
        yield "(blockIdx.x * blockDim.x + threadIdx.x)", 3.5


def sign(scope: Scope, node: Node) -> Iterator[Option]:
    """Leave out a minus or a `not` that is too much."""
    del scope
    if node.type == "unary_expression" and text(node)[:1] in "-!" and not is_target(node):
        yield text(node)[1:].strip(), 4.0


def choice(scope: Scope, node: Node) -> Iterator[Option]:
    """Take the two sides of `? :` the other way round."""
    del scope
    if node.type != "conditional_expression":
        return
    parts = [text(node.child_by_field_name(f)) for f in ("condition", "consequence", "alternative")]
    if all(parts):
        yield f"{parts[0]} ? {parts[2]} : {parts[1]}", 3.0


OPERATORS: tuple[Operator, ...] = (
    comparison,
    arithmetic,
    literal,
    call,
    epsilon,
    assignment,
    step,
    result,
    name,
    built_in,
    sign,
    choice,
)


def _parts(node: Node) -> tuple[str, str, str]:
    return (
        text(node.child_by_field_name("left")),
        text(node.child_by_field_name("operator")),
        text(node.child_by_field_name("right")),
    )
