"""Other sizes and shapes that host code may have meant."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from grader.repair.variants.kinds import kind_of
from grader.repair.variants.sites import INTEGERS, Option, Scope
from grader.source.cuda_code import read_call, text

if TYPE_CHECKING:
    from tree_sitter import Node

MAKERS = re.compile(r"(?:torch|at)::(?:empty|zeros|ones|full)")


def dims(scope: Scope, node: Node) -> Iterator[Option]:
    """`x.size(2) * x.size(3)` for `x.size(3)`, `x.numel()` for a size."""
    if scope.function.runs != "host" or node.type != "call_expression":
        return
    made = read_call(node)
    if made.object is None or made.last != "size" or len(made.arguments) != 1:
        return
    tensor, dim = text(made.object), text(made.arguments[0])
    for other in ("0", "1", "2", "3"):
        if other != dim:
            near = dim.isdigit() and abs(int(other) - int(dim)) == 1
            low, high = sorted((dim, other))
            yield f"{tensor}.size({low}) * {tensor}.size({high})", 2.0 if near else 3.0
    yield f"{tensor}.numel()", 3.5
    for name in scope.names(INTEGERS, node.start_byte):
        if name in {"dim", "axis"} and name != dim:
            yield f"{tensor}.size({name})", 2.5


def launch(scope: Scope, node: Node) -> Iterator[Option]:
    """Launch other threads or blocks: another size that is known, or times that."""
    parent = node.parent
    if parent is None or parent.type != "kernel_call_syntax" or node.type != "identifier":
        return
    if kind_of(scope, node) != "integer":  # a dim3 has no such thing
        return
    for name in (*scope.names(INTEGERS, node.start_byte), *sorted(scope.constants)):
        if name != text(node):
            counted = name in scope.constants and re.search(
                rf"\b{name}\b", _launched(scope, parent)
            )
            yield name, 3.5
            yield f"{text(node)} * {name}", 2.0 if counted else 3.5
    if _is_block(parent, node):
        in_two_axes = "threadIdx.y" in _launched(scope, parent)
        yield f"dim3({text(node)}, {text(node)})", 0.8 if in_two_axes else 2.5


def planes(scope: Scope, node: Node) -> Iterator[Option]:
    """`N * C` for `C` in the sizes of a grid: what one block more for each of the others asks for."""
    given = node.parent
    outer = given.parent if given is not None and given.type == "argument_list" else None
    made = outer.parent if outer is not None and outer.type == "init_declarator" else None
    if made is None or text(made.child_by_field_name("type")) != "dim3":
        return
    if node.type != "identifier" or kind_of(scope, node) != "integer":
        return
    for name in scope.names(INTEGERS, node.start_byte):
        if name != text(node):
            yield f"{name} * {text(node)}", 1.6


def _is_block(launched: Node, node: Node) -> bool:
    """Whether an expression is the second thing that a launch is told: its threads."""
    return [child for child in launched.named_children if child.type != "comment"][1:2] == [node]


def _launched(scope: Scope, launched: Node) -> str:
    """Return the text of the kernel that is launched."""
    begun = launched.parent
    name = read_call(begun).last if begun is not None else ""
    return "".join(kernel.text for kernel in scope.unit.kernels if kernel.name == name)


def other_shape(node: Node, new: str) -> bool:
    """Whether a text in the place of an expression makes a tensor of another shape."""
    return _makes_tensor(node) and text(read_call(node).arguments[0]) not in new


def _makes_tensor(node: Node) -> bool:
    """Whether an expression makes a tensor of sizes that it is given one by one."""
    if node.type != "call_expression" or not MAKERS.fullmatch(read_call(node).name):
        return False
    arguments = read_call(node).arguments
    return bool(arguments) and arguments[0].type == "initializer_list"


def shape(scope: Scope, node: Node) -> Iterator[Option]:
    """Another shape of a result: two dims the other way round, one more, one split in two."""
    if scope.function.runs != "host" or not _makes_tensor(node):
        return
    arguments = read_call(node).arguments
    sizes = [text(child) for child in arguments[0].named_children]
    rest = "".join(f", {text(argument)}" for argument in arguments[1:])
    for other, cost in _shapes(sizes):
        yield f"{read_call(node).name}({{{', '.join(other)}}}{rest})", cost


def _shapes(sizes: list[str]) -> Iterator[tuple[list[str], float]]:
    for k in range(len(sizes) - 1):
        yield [*sizes[:k], sizes[k + 1], sizes[k], *sizes[k + 2 :]], 3.0
    if sizes == ["1"]:
        yield [], 2.0
    else:
        yield [*sizes, "1"], 3.0
    for k, size in enumerate(sizes):
        factors = re.fullmatch(r"(\w+) \* (\w+)", size)
        if factors:
            yield [*sizes[:k], *factors.groups(), *sizes[k + 1 :]], 2.5
        if size == "1":
            yield [*sizes[:k], *sizes[k + 1 :]], 3.0


def half_open(scope: Scope, node: Node) -> Iterator[Option]:
    """`n / 256 + 1` and `(n + 255) / 256` are blocks; a size alone is none too few."""
    if scope.function.runs != "host" or node.type != "binary_expression":
        return
    if kind_of(scope, node) == "integer" and text(node.child_by_field_name("operator")) == "/":
        yield f"({text(node)} + 1)", 2.5
