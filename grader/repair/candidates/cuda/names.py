"""Names in a function of a CUDA text: variables with types and values, and kinds of expressions."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from tree_sitter import Node

from grader.repair.candidates.changeable import Changeable, Given
from grader.repair.candidates.cuda.tree import mentions, parts, stored_in
from grader.source import Function, Unit
from grader.source.constants import fold
from grader.source.cpp_reading import read_call, variables
from grader.source.cpp_types import canonical, fields, type_of
from grader.source.nodes import around, descendants, text
from grader.source.statements import statement

Kind = Literal["integer", "real", ""]
"""Empty where it is neither, or can't be told."""
KINDS: dict[str | None, Kind] = {
    **dict.fromkeys(("short", "int", "unsigned", "long", "ulong", "ll", "ull"), "integer"),
    **dict.fromkeys(("float", "double", "scalar_t", "T"), "real"),
}
ARITHMETIC = {"+", "-", "*", "/", "%"}
BLOCKS = ("compound_statement", "for_statement", "translation_unit")
_MATHEMATICS = re.compile(r".*f|.*(?:exp|log|sqrt|tanh|sin|cos|pow|fma).*")


def kind_of_type(written: str) -> Kind:
    """Return the kind of a written type; that of its elements for a pointer."""
    return KINDS.get(canonical(written.replace("*", "").replace("&", "")), "")


@dataclass(frozen=True)
class Variable:
    """A non-pointer variable, with its range of visibility in bytes."""

    name: str
    kind: Kind
    signed: bool
    start: int
    end: int


@dataclass(frozen=True, eq=False)
class Names(Changeable):
    """A function with its names."""

    text: Unit
    function: Function
    body: Node
    _kinds: dict[int, Kind] = field(default_factory=dict)

    @property
    def on_host(self) -> bool:
        """Whether it is host code."""
        return self.function.runs == "host"

    @cached_property
    def variables(self) -> tuple[Variable, ...]:
        """Parameters, then what the body declares."""
        whole = self.function.node.end_byte
        given = (p for p in self.function.parameters if not p.is_pointer and p.name)
        found = [_variable(p.name, p.type, 0, whole) for p in given]
        for one in (one for one in variables(self.body) if one.plain):
            end = next(outer.end_byte for outer in around(one.node) if outer.type in BLOCKS)
            kind = type_of(self.text, one.value) or "" if one.type == "auto" else one.type
            found.append(_variable(one.name, kind, one.node.end_byte, end))
        return tuple(found)

    @cached_property
    def names(self) -> frozenset[str]:
        """Every parameter and declared name."""
        return frozenset(
            (*(v.name for v in self.variables), *self.pointers, *(n for n, _ in self.made))
        )

    def known_variables(self, kind: Kind, at: int) -> list[str]:
        """Return the variables of a kind visible at a byte, parameters first."""
        found = (v.name for v in self.variables if v.kind == kind and v.start <= at < v.end)
        return list(dict.fromkeys(found))

    def last_declared(self, kind: Kind, at: int, most: int) -> list[str]:
        """Return those of them that the body declared last."""
        given = {p.name for p in self.function.parameters}
        return [name for name in self.known_variables(kind, at) if name not in given][-most:]

    @cached_property
    def sizes(self) -> tuple[str, ...]:
        """The integer parameters, and the integers of a struct parameter: `shape.width`."""
        whole = [p for p in self.function.parameters if not p.is_pointer and p.name]
        kinds = {
            f"{p.name}.{name}": kind
            for p in whole
            for (owner, name), kind in fields(self.text).items()
            if owner == canonical(p.type)
        }
        kinds |= {p.name: p.type for p in whole}
        return tuple(name for name, kind in kinds.items() if kind_of_type(kind or "") == "integer")

    @cached_property
    def pointers(self) -> dict[str, str]:
        """Type of each pointer parameter; `const` is part of it."""
        given = (p for p in self.function.parameters if p.is_pointer)
        return {p.name: p.type.replace("__restrict__", "").replace(" ", "") for p in given}

    @cached_property
    def tensors(self) -> tuple[str, ...]:
        """Names of its tensor parameters."""
        given = ((p.name, canonical(p.type)) for p in self.function.parameters)
        return tuple(name for name, kind in given if name and kind == "Tensor")

    @cached_property
    def constants(self) -> frozenset[str]:
        """Names of the text's integer constants: macros, constants, template parameters."""
        template = self.function.template_parameters
        given = {p.name for p in template if kind_of_type(p.type) == "integer"}
        constants, macros = self.text.constants.values(), self.text.macros.values()
        valued = ((c.name, c.init.node) for c in constants if c.const and c.init is not None)
        given |= {name for name, value in valued if fold(self.text, value) is not None}
        return frozenset(given | {m.name for m in macros if m.value.strip("()").isdigit()})

    @cached_property
    def shared(self) -> Mapping[str, Kind]:
        """The shared arrays of one dimension and their parts, with the kind of their elements."""
        one = (array for array in self.function.shared if len(array.sizes) == 1 or array.extern)
        found = {array.name: kind_of_type(array.type) for array in one}
        for name, value in self.made:
            begin = re.match(r"\w+", text(value))
            if name.startswith("*") and begin and begin[0] in found:
                found[name.lstrip("* ")] = found[begin[0]]
        return found

    @cached_property
    def thread(self) -> str:
        """The body's name of the thread's index: `tid`, or `threadIdx.x` itself."""
        everywhere = {one.name for one in self.variables if one.end == self.body.end_byte}
        own = (name for name, value in self.made if text(value) == "threadIdx.x")
        return next((name for name in own if name in everywhere), "threadIdx.x")

    @cached_property
    def made(self) -> tuple[tuple[str, Node], ...]:
        """Name and value of each variable that is declared with one."""
        pairs = (
            (node.child_by_field_name("declarator"), node.child_by_field_name("value"))
            for node in descendants(self.body, "init_declarator")
        )
        return tuple((text(name), value) for name, value in pairs if value is not None)

    @cached_property
    def _assigned(self) -> tuple[tuple[Node, Node, str], ...]:
        """Target, value and operator of each assignment."""
        found = descendants(self.body, "assignment_expression")
        sides = ((n.child_by_field_name("left"), n.child_by_field_name("right"), parts(n)[1]) for n in found)  # fmt: skip
        return tuple((left, right, sign) for left, right, sign in sides if left and right)

    @cached_property
    def given(self) -> Sequence[Given]:
        """The values that its statements assign to names, in the order of the text."""
        every = [Given(name, value, statement(value)) for name, value in self.made]
        every += [
            Given(text(left), right, statement(right), sign != "=" or mentions(text(right), text(left)))
            for left, right, sign in self._assigned
            if left.type == "identifier"
        ]  # fmt: skip
        return sorted(every, key=lambda one: one.value.start_byte)

    @cached_property
    def stored(self) -> Sequence[tuple[str, Node]]:  # type: ignore[override]
        """Names of arrays, each with a stored value."""
        return [(text(left).partition("[")[0], right) for left, right, _ in self._assigned]

    @cached_property
    def divided(self) -> frozenset[str]:
        """Names that are divided later, as in `i /= width`, and then hold another coordinate."""
        return frozenset(text(left) for left, _, sign in self._assigned if sign == "/=")

    @cached_property
    def filled(self) -> frozenset[str]:
        """Arrays with stores of values that don't depend on them."""
        stored = ((stored_in(left.parent), text(right)) for left, right, _ in self._assigned)
        return frozenset(name for name, words in stored if not mentions(words, name))

    @cached_property
    def read(self) -> frozenset[str]:
        """Names whose value is read somewhere."""
        found = descendants(self.body, "identifier")
        return frozenset(text(node) for node in found if not _is_given_a_value(node))

    @cached_property
    def idle(self) -> frozenset[str]:
        """Parameters and variables that are never read, which the author may have forgotten.

        Not in host code, which computes many sizes for checks and messages.
        """
        known = {one.name for one in self.variables}.difference(self.read)
        return frozenset(() if self.on_host else known).union(self.idle_parts)

    @cached_property
    def idle_parts(self) -> tuple[str, ...]:
        """Parts of small vectors that are never read, where others of the same vector are: `stats.x`."""
        read = {text(node) for node in descendants(self.body, "field_expression")}
        found = ((v.name, re.search(r"float([234])$", v.type)) for v in variables(self.body))
        every = ([f"{name}.{x}" for x in "xyzw"[: int(n[1])]] for name, n in found if n)
        return tuple(one for some in every if read & {*some} for one in some if one not in read)

    def idle_elements(self, at: int) -> list[str]:
        """Return `bias[c]` for each array that a kernel is given and never reads, with the indices known at a byte."""
        if self.on_host:
            return []
        arrays = [p.name for p in self.function.parameters if p.is_pointer and p.is_const]
        unread = [name for name in arrays if name not in self.read]
        return [
            f"{name}[{index}]" for name in unread for index in self.last_declared("integer", at, 8)
        ]

    def launched_text(self, node: Node) -> str:
        """Return the text of the kernel launched with a size."""
        begun = node.parent.parent if node.parent is not None else None
        name = read_call(begun).name if begun is not None else ""
        return "".join(kernel.text for kernel in self.text.kernels if kernel.name == name)

    def kind_of(self, node: Node | None) -> Kind:
        """Return what kind of number an expression is."""
        if node is None:
            return ""
        if node.id not in self._kinds:
            self._kinds[node.id] = self._kind_of(node)
        return self._kinds[node.id]

    def _kind_of(self, node: Node) -> Kind:
        if node.type == "binary_expression" and parts(node)[1] in ARITHMETIC:
            return self._either(*(node.child_by_field_name(side) for side in ("left", "right")))
        if node.type in {"parenthesized_expression", "unary_expression"} and node.named_children:
            return self.kind_of(node.named_children[0])
        if node.type == "conditional_expression":
            return self.kind_of(node.child_by_field_name("consequence"))
        if node.type == "call_expression":
            call = read_call(node)
            if call.name in {"max", "min", "abs", "fmax", "fmin"} and call.arguments:
                return self._either(*call.arguments)
            if call.base is None and _MATHEMATICS.fullmatch(call.name):
                return "real"
        if node.type == "identifier" and text(node) in self.constants:
            return "integer"
        return KINDS.get(type_of(self.text, node), "")

    def _either(self, *nodes: Node | None) -> Kind:
        kinds = [self.kind_of(node) for node in nodes]
        return "real" if "real" in kinds else "" if "" in kinds else "integer"


def _variable(name: str, written: str, start: int, end: int) -> Variable:
    signed = canonical(written) in {"int", "long", "ll"}
    return Variable(name, kind_of_type(written), signed, start, end)


def _is_given_a_value(node: Node) -> bool:
    """Whether a name is only declared or assigned there, not read."""
    parent = node.parent
    if parent is None or parent.type not in {"assignment_expression", "init_declarator"}:
        return parent is not None and parent.type == "declaration"
    return node in (parent.child_by_field_name(name) for name in ("left", "declarator"))
