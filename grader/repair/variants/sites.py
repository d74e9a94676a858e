"""Where a program may be changed: expressions that are computed at run time, and statements."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from grader.source.cuda_code import around, descendants, text

if TYPE_CHECKING:
    from tree_sitter import Node

    from grader.source import Function, Unit

FIXED = {
    "array_declarator",
    "template_argument_list",
    "template_parameter_list",
    "case_statement",
    "static_assert_declaration",
    "preproc_def",
    "preproc_function_def",
    "preproc_if",
    "launch_bounds",
    "field_declaration_list",
    "enumerator",
    "subscript_designator",
}
"""What must be known when the program is compiled, or isn't an expression at all."""
BLOCKS = ("compound_statement", "for_statement", "translation_unit")
INTEGERS = {
    "int",
    "unsigned",
    "unsigned int",
    "long",
    "long long",
    "size_t",
    "int64_t",
    "uint32_t",
    "int32_t",
    "uint64_t",
}
REALS = {"float", "double", "scalar_t", "T"}
Option = tuple[str, float]
"""Another text for an expression, and how unlikely it is."""


_MACRO = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)[ \t]+\(?\d+\)?[ \t]*$", re.MULTILINE)
_CONSTANT = re.compile(
    r"\bconst(?:expr)?\s+(?:static\s+)?(?:int|unsigned|size_t|int64_t)\s+(\w+)\s*="
)


def plain_type(words: str) -> str:
    """Return a type without qualifiers and references."""
    dropped = {"const", "static", "constexpr", "volatile", "__restrict__", "__shared__"}
    return " ".join(w for w in words.replace("&", " ").split() if w not in dropped)


def _told(kind: str, declared: Node) -> str:
    """Return a declared type; for `auto`, that of a size where the value is one."""
    if kind != "auto":
        return kind
    value = text(declared.child_by_field_name("value"))
    return "int64_t" if re.search(r"\.(size|numel|dim)\(", value) else kind


def parts(node: Node) -> tuple[str, str, str]:
    """Return left side, operator and right side of an expression with two operands."""
    return (
        text(node.child_by_field_name("left")),
        text(node.child_by_field_name("operator")),
        text(node.child_by_field_name("right")),
    )


@dataclass(frozen=True, eq=False)
class Scope:
    """A function whose body may be changed."""

    unit: Unit
    function: Function

    @cached_property
    def locals(self) -> tuple[tuple[str, str, int, int], ...]:
        """Name, type, and the bytes between which each variable is known: parameters first."""
        found = [
            (p.name, plain_type(p.type), 0, self.function.node.end_byte)
            for p in self.function.parameters
            if not p.is_pointer and p.name
        ]
        body = self.function.body
        for node in descendants(body, "declaration") if body is not None else ():
            kind = plain_type(text(node.child_by_field_name("type")))
            end = next(o.end_byte for o in around(node) if o.type in BLOCKS)
            for child in node.named_children:
                name = child.child_by_field_name("declarator")
                name = name if child.type == "init_declarator" else child
                if name is not None and name.type == "identifier":
                    known = _told(kind, child)
                    found.append((text(name), known, node.end_byte, end))
        return tuple(found)

    def names(self, kinds: set[str], at: int) -> list[str]:
        """Return the variables of some types that are known at a byte, parameters first."""
        known = [
            name for name, kind, start, end in self.locals if kind in kinds and start <= at < end
        ]
        return list(dict.fromkeys(known))

    def type_of(self, name: str) -> str:
        """Return a variable's type; empty where it is none that is known here."""
        own = next((kind for known, kind, _, _ in self.locals if known == name), "")
        return own or ("int" if name in self.constants else "")

    @cached_property
    def constants(self) -> frozenset[str]:
        """Names of the whole numbers that the text fixes: macros, constants, template parameters."""
        given = {
            p.name for p in self.function.template_parameters if plain_type(p.type) in INTEGERS
        }
        return frozenset(
            given | set(_CONSTANT.findall(self.unit.text)) | set(_MACRO.findall(self.unit.text))
        )

    @cached_property
    def arrays(self) -> dict[str, str]:
        """Type of the elements of each pointer parameter and of each array that is declared."""
        found = {
            p.name: p.type.replace("__restrict__", "")
            for p in self.function.parameters
            if p.is_pointer
        }
        body = self.function.body
        for node in (
            descendants(body, "array_declarator", "pointer_declarator") if body is not None else ()
        ):
            outer = next((o for o in around(node) if o.type == "declaration"), None)
            name = node.child_by_field_name("declarator")
            while name is not None and name.type != "identifier":
                name = name.child_by_field_name("declarator")
            if outer is not None and name is not None:
                found.setdefault(text(name), text(outer.child_by_field_name("type")))
        return found

    def element_type(self, name: str) -> str:
        """Return the type of an array's elements; empty where the name is none."""
        return self.arrays.get(name, "")

    @cached_property
    def pointers(self) -> tuple[tuple[str, str], ...]:
        """Name and type of each pointer parameter; `const` is part of the type."""
        return tuple(
            (p.name, p.type.replace("__restrict__", "").replace(" ", ""))
            for p in self.function.parameters
            if p.is_pointer
        )

    @cached_property
    def integer_parameters(self) -> tuple[str, ...]:
        """Names of the integer parameters."""
        return tuple(
            p.name
            for p in self.function.parameters
            if not p.is_pointer and plain_type(p.type) in INTEGERS
        )


def scopes(units: tuple[Unit, ...]) -> Iterator[Scope]:
    """Yield the functions to look at: device code, and host code that has to do with the result."""
    for unit in units:
        for function in unit.functions:
            if function.body is not None and (function.runs != "host" or works(unit, function)):
                yield Scope(unit, function)


def works(unit: Unit, function: Function) -> bool:
    """Whether a function of the host launches a kernel, or is given a tensor to compute with."""
    launching = {x.host_function.name for x in unit.launches if x.host_function is not None}
    given = (plain_type(p.type) for p in function.parameters)
    return function.name in launching or any(kind.endswith("Tensor") for kind in given)


def expressions(scope: Scope) -> Iterator[Node]:
    """Yield the nodes of a function's body that stand for a value computed at run time."""
    body = scope.function.body
    todo = [body] if body is not None else []
    while todo:
        node = todo.pop()
        if node.type in FIXED or _is_constant(scope, node):
            continue
        if node is not body:
            yield node
        todo += reversed(node.named_children)


def _is_constant(scope: Scope, node: Node) -> bool:
    """Whether a declaration's value has to be known to the compiler: `constexpr`, or an array's size."""
    if node.type != "declaration":
        return False
    words = {text(child) for child in node.children if child.type != "init_declarator"}
    if "constexpr" in words or "static" in words:
        return True
    if "const" not in words or scope.function.body is None:
        return False
    names = {
        text(c.child_by_field_name("declarator"))
        for c in node.named_children
        if c.type == "init_declarator"
    }
    fixed = descendants(scope.function.body, "array_declarator", "template_argument_list")
    return any(text(inner) in names for one in fixed for inner in descendants(one, "identifier"))


def is_target(node: Node) -> bool:
    """Whether a node is written to, so that another expression can't stand in its place."""
    parent = node.parent
    if parent is None:
        return True
    if parent.type in {"assignment_expression", "init_declarator"}:
        return node in (
            parent.child_by_field_name("left"),
            parent.child_by_field_name("declarator"),
        )
    if parent.type in {"update_expression", "pointer_expression", "lambda_capture_specifier"}:
        return True
    return parent.type in {"declaration", "parameter_declaration", "call_expression"} and (
        parent.child_by_field_name("function") == node or parent.type != "call_expression"
    )


def stored_in(node: Node) -> str:
    """Return the array that an assignment stores to (`y` of `y[i] = v`); empty where it is none."""
    left = node.child_by_field_name("left")
    if left is None or left.type != "subscript_expression":
        return ""
    return text(left.child_by_field_name("argument"))


def loop_of(node: Node) -> Node | None:
    """Return the `for` that a node is the head of, or None."""
    for outer in around(node):
        if outer.type == "for_statement":
            body = outer.child_by_field_name("body")
            return outer if body is None or node.end_byte <= body.start_byte else None
        if outer.type.endswith("statement"):
            return None
    return None
