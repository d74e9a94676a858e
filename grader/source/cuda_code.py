"""A CUDA or C++ text's syntax tree, indexed once: nodes by kind, names, calls."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import accumulate
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tree_sitter import Node

    from grader.source import Source
    from grader.source.functions import Function
    from grader.source.units import Unit

NAMES = frozenset({"identifier", "type_identifier", "field_identifier", "namespace_identifier"})


@dataclass(frozen=True, eq=False)
class Call:
    """One call: what is called as written (`at::cuda::getCurrentCUDAStream`), and on what."""

    name: str
    """With namespaces, without template arguments; only the method's name for a method."""
    template: str
    """The template arguments' text without the angle brackets, or ""."""
    object: Node | None
    """What a method is called on."""
    arguments: tuple[Node, ...]
    node: Node

    @property
    def last(self) -> str:
        """The name without namespaces."""
        return self.name.rsplit("::", 1)[-1]


@dataclass(frozen=True, eq=False)
class CudaCode:
    """Read-only index of one text's syntax tree."""

    unit: Unit
    by_kind: Mapping[str, tuple[Node, ...]]
    _starts: dict[str, list[int]] = field(default_factory=dict)

    def of(self, *kinds: str) -> Iterator[Node]:
        """Yield the named nodes of these kinds, each kind in the order of the text."""
        for kind in kinds:
            yield from self.by_kind.get(kind, ())

    def under(self, node: Node, kind: str) -> Iterator[Node]:
        """Yield the named nodes of one kind under a node, itself included, in the order of the text."""
        nodes = self.by_kind.get(kind, ())
        if kind not in self._starts:
            self._starts[kind] = [one.start_byte for one in nodes]
        starts = self._starts[kind]
        first, last = bisect_left(starts, node.start_byte), bisect_left(starts, node.end_byte)
        end = node.end_byte
        return (one for one in nodes[first:last] if one.end_byte <= end)

    def calls_under(self, node: Node) -> Iterator[Call]:
        """Yield the calls under a node, in the order of the text."""
        start, end = node.start_byte, node.end_byte
        return (call for call in self.calls if start <= call.node.start_byte < end)

    @cached_property
    def _off(self) -> tuple[tuple[int, int], ...]:
        """The stretches that `#if 0` switches off."""
        found = []
        for node in self.of("preproc_if"):
            if text(node.child_by_field_name("condition")) in {"0", "false"}:
                alternative = node.child_by_field_name("alternative")
                end = alternative.start_byte if alternative is not None else node.end_byte
                found.append((node.start_byte, end))
        return tuple(found)

    def is_off(self, node: Node) -> bool:
        """Whether a node is switched off by `#if 0`."""
        return any(start <= node.start_byte < end for start, end in self._off)

    @cached_property
    def names(self) -> Mapping[str, tuple[Node, ...]]:
        """Every identifier of whatever role, with the nodes where it stands."""
        found: dict[str, list[Node]] = {}
        for node in self.of(*NAMES):
            if not self.is_off(node):
                found.setdefault(text(node), []).append(node)
        return {
            name: tuple(sorted(nodes, key=lambda node: node.start_byte))
            for name, nodes in found.items()
        }

    def variable(self, name: str) -> Iterator[Node]:
        """Yield the places where a variable or function is named; members are called alike."""
        yield from (node for node in self.names.get(name, ()) if node.type == "identifier")

    @cached_property
    def calls(self) -> tuple[Call, ...]:
        """All calls but kernel launches, in the order of the text."""
        return tuple(
            read_call(node)
            for node in self.of("call_expression")
            if not any(child.type == "kernel_call_syntax" for child in node.children)
            and not self.is_off(node)
        )

    def function(self, node: Node) -> Function | None:
        """Return the function with a body that a node stands in."""
        starts, reach, functions = self._spans
        at = node.start_byte
        before = bisect_right(starts, at) - 1
        while before >= 0 and reach[before] > at:  # else none of those before reaches as far
            if functions[before].node.end_byte > at:
                return functions[before]
            before -= 1
        return None

    @cached_property
    def _spans(self) -> tuple[list[int], list[int], list[Function]]:
        """Where the functions begin, how far they and those before them reach, and the functions themselves."""
        functions = sorted(self.unit.functions, key=lambda function: function.node.start_byte)
        starts = [function.node.start_byte for function in functions]
        reach = list(accumulate((function.node.end_byte for function in functions), max))
        return starts, reach, functions

    def in_device_code(self, node: Node) -> bool:
        """Whether a node stands in a kernel or a device function."""
        function = self.function(node)
        return function is not None and function.runs != "host"


@lru_cache(maxsize=64)
def cuda_code(unit: Unit) -> CudaCode:
    """Return the index of a unit's tree."""
    return CudaCode(unit, unit.by_kind)


def units(source: Source) -> Iterator[Unit]:
    """Yield every text of the submission that a compiler sees, CUDA first."""
    yield from source.cuda
    yield from (unit for unit in source.cpp if unit not in source.cuda)


def text(node: Node | None) -> str:
    """Return a node's text; empty for None."""
    return "" if node is None or node.text is None else node.text.decode("utf-8", "replace")


def one_line(node: Node | None, limit: int = 80) -> str:
    """Return a node's text on one line, cut to a length."""
    line = " ".join(text(node).split())
    return line if len(line) <= limit else f"{line[: limit - 3]}..."


def around(node: Node) -> Iterator[Node]:
    """Yield the nodes around a node, from the inside out."""
    here = node.parent
    while here is not None:
        yield here
        here = here.parent


def read_call(node: Node) -> Call:
    """Return a call expression's parts."""
    callee = node.child_by_field_name("function")
    arguments = node.child_by_field_name("arguments")
    given = arguments.named_children if arguments is not None else []
    owner: Node | None = None
    if callee is not None and callee.type == "field_expression":
        owner = callee.child_by_field_name("argument")
        callee = callee.child_by_field_name("field")
    name, template = read_name(callee)
    return Call(
        name,
        ", ".join(map(text, template)),
        owner,
        tuple(item for item in given if item.type != "comment"),
        node,
    )


def read_name(node: Node | None) -> tuple[str, tuple[Node, ...]]:
    """Return what is called, launched or declared: its name with namespaces, and its template arguments."""
    scope = ""
    while node is not None:
        if node.type == "qualified_identifier":
            scope += f"{text(node.child_by_field_name('scope'))}::"
            node = node.child_by_field_name("name")
        elif node.type in {"template_function", "template_method", "template_type"}:
            given = node.child_by_field_name("arguments")
            arguments = tuple(given.named_children) if given is not None else ()
            return scope + text(node.child_by_field_name("name")), arguments
        elif node.type == "field_expression":
            node = node.child_by_field_name("field")
        elif node.type == "dependent_name":
            node = node.named_children[-1] if node.named_children else None
        else:
            return scope + "".join(text(node).split()), ()
    return scope, ()


def plain_name(node: Node | None) -> str:
    """Return that name without namespaces: `f` for `ns::f<float>`."""
    return read_name(node)[0].rpartition("::")[2]


def descendants(node: Node, *kinds: str) -> Iterator[Node]:
    """Yield the nodes of these kinds under a node, in the order of the text."""
    todo = [node]
    while todo:
        here = todo.pop()
        if here.type in kinds:
            yield here
        todo += reversed(here.named_children)


def names_in(node: Node | None) -> set[str]:
    """Return the identifiers in a part of a text."""
    return {text(one) for one in descendants(node, "identifier")} if node is not None else set()


def function_around(node: Node) -> Node | None:
    """Return the definition of the function that a node stands in."""
    return next((one for one in around(node) if one.type == "function_definition"), None)
