"""Other indices and sizes that an author may have meant."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import permutations
from typing import TYPE_CHECKING

from grader.repair.variants.idle import idle_names
from grader.repair.variants.kinds import kind_of
from grader.repair.variants.sites import INTEGERS, REALS, Option, Scope, is_target, parts
from grader.source.cuda_code import around, descendants, text

if TYPE_CHECKING:
    from tree_sitter import Node

NEAR = 4
"""How many of the variables that were declared last may be meant by an index."""


def name(scope: Scope, node: Node) -> Iterator[Option]:
    """Another variable of the same kind: the wrong size in a comparison or an index."""
    if node.type != "identifier" or is_target(node):
        return
    own, kind = text(node), scope.type_of(text(node))
    if kind in INTEGERS and _in_index(node):
        for other in scope.names(INTEGERS, node.start_byte):
            if other != own:
                given = other in scope.integer_parameters
                likely = 1.9 if _derived(own, other) else 2.5 if alike(own, other) else 4.0
                yield other, likely if given else 4.5
    elif kind in REALS:
        for other in scope.names({kind}, node.start_byte)[-5:]:
            if other != own:
                yield other, 4.5
    else:
        yield from _other_pointer(scope, own)


def alike(one: str, other: str) -> bool:
    """Whether two names are easily taken for one another: `H` and `W`, `in_len` and `out_len`, `H` and `OH`."""
    if max(len(one), len(other)) <= 2:
        return True
    return bool(_words(one) & _words(other))


def _derived(one: str, other: str) -> bool:
    """Whether a name says what the other says and more: `effective_padding` and `padding`."""
    return _words(one) > _words(other) or _words(one) < _words(other)


def _words(name: str) -> set[str]:
    return set(re.split(r"_|(?<=[a-z])(?=[A-Z])", name))


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
    other = "y" if axis == "x" else "x"
    # Of a block or grid that has no second axis the size is 1: each thread would do all the work.
    flat = owner in {"blockDim", "gridDim"} and f".{other}" not in text(scope.function.node)
    if axis != "z" and not flat:
        yield f"{owner}.{other}", 4.0
    if owner == "threadIdx" and axis == "x":
        yield "(blockIdx.x * blockDim.x + threadIdx.x)", 3.5
    if owner in {"gridDim", "blockDim"}:
        yield from ((name, 2.5) for name in scope.integer_parameters if name in idle_names(scope))


def stride(scope: Scope, node: Node) -> Iterator[Option]:
    """`x[k * inner]` for `x[k]`; `(i / hw) % c` for `i % c`."""
    if scope.function.runs == "host":
        return
    if node.type == "identifier" and _is_addend(node) and kind_of(scope, node) == "integer":
        for name in scope.integer_parameters:
            if name != text(node):
                yield f"{text(node)} * {name}", 2.5
    elif node.type == "binary_expression" and parts(node)[1] == "%":
        left, _, right = parts(node)
        for name in scope.integer_parameters:
            if name != right:
                yield f"({left} / {name}) % {right}", 2.2


def along(scope: Scope, node: Node) -> Iterator[Option]:
    """`x[(o / s) * n * s + o % s + k * s]` for `x[o + k * s]`: a dimension in the middle is walked along, of size n.

    `o` numbers the other dimensions' places together; s is the dimension's stride and k runs up to n.
    """
    parent = node.parent
    if parent is None or parent.type != "subscript_argument_list" or scope.function.runs == "host":
        return
    for step, rest in _walked(node):
        counter, _, size = parts(step)
        for loop in around(node):
            asked = loop.child_by_field_name("condition") if loop.type == "for_statement" else None
            limit = re.fullmatch(rf"{re.escape(counter)}\s*<\s*(\w+)", text(asked))
            if limit and re.fullmatch(r"\w+", size):
                o = _factor(rest)
                yield f"({o} / {size}) * {limit[1]} * {size} + {o} % {size} + {text(step)}", 1.8


def _walked(node: Node) -> Iterator[tuple[Node, str]]:
    """Yield the product `k * s` of an index that is a sum of two, and what it is added to."""
    if node.type != "binary_expression" or parts(node)[1] != "+":
        return
    left, right = (node.child_by_field_name(side) for side in ("left", "right"))
    for step, rest in ((right, left), (left, right)):
        if step is not None and step.type == "binary_expression" and parts(step)[1] == "*":
            yield step, text(rest)


def _is_addend(node: Node) -> bool:
    """Whether a node is an index, or is added to others to make one."""
    parent = node.parent
    while parent is not None and parent.type == "binary_expression" and parts(parent)[1] == "+":
        parent = parent.parent
    return parent is not None and parent.type == "subscript_argument_list"


def whole(scope: Scope, node: Node) -> Iterator[Option]:
    """Another variable as the whole index: `bias[c]` for `bias[i / hw]`."""
    parent = node.parent
    if parent is None or parent.type != "subscript_argument_list" or scope.function.runs == "host":
        return
    given = {p.name for p in scope.function.parameters}
    known = [n for n in scope.names(INTEGERS, node.start_byte) if n not in given]
    for name in known[-NEAR:]:
        if name != text(node):
            yield name, 3.5


def nested(scope: Scope, node: Node) -> Iterator[Option]:
    """`b * S + a` for `a * S + b`, and `(x * H + h) * W + w` for `(x * W + h) * H + w`."""
    if node.type != "binary_expression" or kind_of(scope, node) != "integer":
        return
    product, sign, b = parts(node)
    left = node.child_by_field_name("left")
    if sign != "+" or left is None or left.type != "binary_expression":
        return
    a, times, size = parts(left)
    if times != "*":
        return
    for other in (size, *(p for p in scope.integer_parameters if p != size)):
        goes_with = re.split(r"\W+", a)[-1].lower() == other.lower()  # `h * W + w`
        cast = re.fullmatch(r"(\((?:size_t|int64_t|long long)\)\s*)(\w+)", a)
        turned = f"{cast[1]}{_factor(b)} * {other} + {cast[2]}" if cast else ""
        yield (
            turned or f"{_factor(b)} * {other} + {a}",
            2.0 if goes_with else 2.8 if other == size else 3.2,
        )
    inner = re.fullmatch(r"\((.*) \* (\w+) \+ (\w+)\)", a)
    if inner and inner[2] != size:
        yield f"({inner[1]} * {size} + {inner[3]}) * {inner[2]} + {b}", 2.5
    if inner and inner[3] != b:
        turned = f"({inner[1]} * {inner[2]} + {b}) * {size} + {inner[3]}"
        yield turned, 2.0 if inner[2] == size else 3.0
    del product


def _factor(words: str) -> str:
    return words if re.fullmatch(r"[\w.\[\]]+|\(.*\)", words) else f"({words})"


def renamed(scope: Scope, node: Node) -> Iterator[Option]:
    """`plane * H * W` for `plane * OH * OW`: sizes of the input for those of the output, all of them."""
    parent = node.parent
    if node.type != "binary_expression" or (parent is not None and parent.type == node.type):
        return
    words = text(node)
    for names in _sides(scope.integer_parameters):
        pattern = "|".join(rf"(?<!\w){re.escape(name)}(?!\w)" for name in names)
        if len(set(re.findall(pattern, words))) > 1:
            yield re.sub(pattern, lambda found, to=names: str(to[found[0]]), words), 2.0  # type: ignore[misc]


def _sides(names: tuple[str, ...]) -> Iterator[dict[str, str]]:
    """Yield the sizes that go with others of another beginning: `OH` with `H` and `OW` with `W`."""
    found: dict[tuple[str, str], dict[str, str]] = {}
    for one, other in permutations(names, 2):
        same = _common_end(one, other)
        if same:
            begin = one.removesuffix(same), other.removesuffix(same)
            found.setdefault(begin, {})[one] = other
    yield from (pairs for pairs in found.values() if len(pairs) > 1)


def _common_end(one: str, other: str) -> str:
    length = 0
    while length < min(len(one), len(other)) and one[-1 - length] == other[-1 - length]:
        length += 1
    return one[len(one) - length :]


def beginning(scope: Scope, node: Node) -> Iterator[Option]:
    """`x` for `&x[i]`: whether a row is aligned does not hang on the thread that asks."""
    del scope
    inner = node.child_by_field_name("argument")
    if node.type == "pointer_expression" and text(node).startswith("&") and inner is not None:
        if inner.type == "subscript_expression":
            yield text(inner.child_by_field_name("argument")), 2.2


def transposed(scope: Scope, node: Node) -> Iterator[Option]:
    """`tile[k][tx]` for `tile[tx][k]`."""
    del scope
    inner = node.child_by_field_name("argument")
    if node.type != "subscript_expression" or inner is None or inner.type != "subscript_expression":
        return
    if is_target(node):
        return
    array = text(inner.child_by_field_name("argument"))
    first, second = (text(n.child_by_field_name("indices")) for n in (inner, node))
    if first != second:
        yield f"{array}{second}{first}", 2.5


def shift(scope: Scope, node: Node) -> Iterator[Option]:
    """`o * stride - pad` for `o * stride`; one more or less; a size times another."""
    parent = node.parent
    if parent is None or parent.type not in {"init_declarator", "assignment_expression"}:
        return
    if is_target(node) or kind_of(scope, node) != "integer":
        return
    words = text(node)
    used = {text(inner) for inner in descendants(node, "identifier")}
    if scope.function.runs == "host":
        for name in scope.names(INTEGERS, node.start_byte):
            if name not in used:
                yield f"{_factor(words)} * {name}", 3.0
        yield f"{words} + 1", 3.0
        yield f"{words} - 1", 3.5
        return
    for name in scope.integer_parameters:
        if name not in used:
            yield f"{words} - {name}", 3.0
            yield f"{words} + {name}", 3.5
            yield f"{_factor(words)} * {name}", 3.5
