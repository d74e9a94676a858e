"""Folds integer expressions of C++ that are constant: literals, macros, constants, sizeof."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from tree_sitter import Node, Parser

from grader.source import cuda_language
from grader.source.cuda_code import cuda_code, text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from grader.source import Unit

SIZES = {
    "char": 1, "signed char": 1, "unsigned char": 1, "bool": 1, "int8_t": 1, "uint8_t": 1,
    "std::byte": 1, "short": 2, "unsigned short": 2, "int16_t": 2, "uint16_t": 2, "half": 2,
    "__half": 2, "at::Half": 2, "c10::Half": 2, "torch::Half": 2, "at::BFloat16": 2,
    "c10::BFloat16": 2, "__nv_bfloat16": 2, "nv_bfloat16": 2, "int": 4, "unsigned": 4,
    "unsigned int": 4, "int32_t": 4, "uint32_t": 4, "float": 4, "half2": 4, "__half2": 4,
    "long": 8, "unsigned long": 8, "long long": 8, "unsigned long long": 8, "int64_t": 8,
    "uint64_t": 8, "size_t": 8, "double": 8, "float2": 8, "int2": 8, "float3": 12, "int3": 12,
    "float4": 16, "int4": 16, "uint4": 16, "double2": 16,
}  # fmt: skip
"""Bytes of the types that shared arrays are made of."""
NUMBER = re.compile(r"^(0[xX][0-9a-fA-F']+|0[bB][01']+|[0-9][0-9']*)[uUlL]*$")
DEPTH = 40


def size_of(type_name: str, types: Mapping[str, str] | None = None) -> int | None:
    """Return the bytes of a type, template parameters replaced by what `types` says."""
    name = " ".join(word for word in type_name.split() if word not in {"const", "volatile"})
    name = (types or {}).get(name, name)
    return 8 if name.endswith("*") else SIZES.get(name.removeprefix("::"))


def fold(
    unit: Unit,
    node: Node | None,
    known: Mapping[str, int] | None = None,
    types: Mapping[str, str] | None = None,
) -> int | None:
    """Return the value of an expression, or None where it isn't constant.

    `known` gives values of names (template arguments), `types` the types that template parameters
    stand for. Macros, file-scope constants and constants of the function around count.
    """
    return _Folding(unit, known or {}, types or {}).value(node, DEPTH)


class _Folding:
    def __init__(self, unit: Unit, known: Mapping[str, int], types: Mapping[str, str]) -> None:
        self.unit = unit
        self.known = known
        self.types = types

    def value(self, node: Node | None, depth: int) -> int | None:
        if node is None or depth == 0:
            return None
        match node.type:
            case "number_literal":
                return _number(text(node))
            case "identifier" | "type_identifier" | "qualified_identifier":
                return self._name(node, depth)
            case "parenthesized_expression" | "comma_expression":
                inner = [child for child in node.named_children if child.type != "comment"]
                return self.value(inner[-1], depth - 1) if len(inner) == 1 else None
            case "binary_expression":
                return self._binary(node, depth)
            case "unary_expression":
                value = self.value(node.child_by_field_name("argument"), depth - 1)
                return -value if value is not None and text(node).startswith("-") else None
            case "cast_expression":
                return self.value(node.child_by_field_name("value"), depth - 1)
            case "sizeof_expression":
                return self._sizeof(node)
            case "conditional_expression":
                return self._choice(node, depth)
            case "call_expression":
                return self._call(node, depth)
            case _:
                return None

    def _name(self, node: Node, depth: int) -> int | None:
        name = text(node)
        if name in self.known:
            return self.known[name]
        if name in self.unit.macros:
            return self.value(_expression(self.unit.macros[name]), depth - 1)
        value = _local_constant(self.unit, name, node) or self.unit.constants.get(name)
        return self.value(value, depth - 1) if value is not None else None

    def _binary(self, node: Node, depth: int) -> int | None:
        left = self.value(node.child_by_field_name("left"), depth - 1)
        right = self.value(node.child_by_field_name("right"), depth - 1)
        if left is None or right is None:
            return None
        match text(node.child_by_field_name("operator")):
            case "+":
                return left + right
            case "-":
                return left - right
            case "*":
                return left * right
            case "/" if right:
                return abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)
            case "%" if right > 0 and left >= 0:
                return left % right
            case "<<" if 0 <= right < 64:
                return left << right
            case ">>" if 0 <= right < 64:
                return left >> right
            case ">":
                return int(left > right)
            case "<":
                return int(left < right)
            case _:
                return None

    def _choice(self, node: Node, depth: int) -> int | None:
        test = self.value(node.child_by_field_name("condition"), depth - 1)
        if test is None:
            return None
        which = "consequence" if test else "alternative"
        return self.value(node.child_by_field_name(which), depth - 1)

    def _sizeof(self, node: Node) -> int | None:
        inside = node.child_by_field_name("type") or node.child_by_field_name("value")
        return size_of(text(inside).strip("() "), self.types)

    def _call(self, node: Node, depth: int) -> int | None:
        arguments = node.child_by_field_name("arguments")
        values = (
            [self.value(child, depth - 1) for child in arguments.named_children]
            if arguments
            else []
        )
        numbers = [value for value in values if value is not None]
        if not numbers or len(numbers) < len(values):
            return None
        name = text(node.child_by_field_name("function")).rsplit("::", 1)[-1].partition("<")[0]
        if name in {"min", "max"}:
            return min(numbers) if name == "min" else max(numbers)
        casts = {"static_cast", "int", "int64_t", "size_t"}
        return numbers[0] if name in casts and len(numbers) == 1 else None


def _number(written: str) -> int | None:
    found = NUMBER.match(written)
    if not found:
        return None
    digits = found.group(1).replace("'", "")
    octal = len(digits) > 1 and digits[0] == "0" and digits.isdigit()
    try:
        return int(digits, 8 if octal else 0)
    except ValueError:
        return None


@lru_cache(maxsize=256)
def _expression(written: str) -> Node | None:
    """Parse the value of a macro."""
    tree = Parser(cuda_language()).parse(f"int v = {written};".encode("utf-8", "replace"))
    for declaration in tree.root_node.named_children[:1]:
        declarator = declaration.child_by_field_name("declarator")
        if declarator is not None:
            return declarator.child_by_field_name("value")
    return None


def _local_constant(unit: Unit, name: str, use: Node) -> Node | None:
    """Return what a `const` or `constexpr` local of the function around is initialised with."""
    code = cuda_code(unit)
    function = code.function(use)
    for node in code.variable(name):
        declarator = node.parent
        if declarator is None or declarator.type != "init_declarator":
            continue
        declaration = declarator.parent
        if declaration is None or declarator.child_by_field_name("declarator") != node:
            continue
        words = {text(child) for child in declaration.children if child.type == "type_qualifier"}
        same = function is None or function.node.start_byte <= node.start_byte < use.start_byte
        if words & {"const", "constexpr"} and same:
            return declarator.child_by_field_name("value")
    return None
