"""One C++ or CUDA string of a submission, parsed on first use: its tree by kinds of nodes, and the facts read from it."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from operator import attrgetter

from tree_sitter import Node, Tree

from grader.source import cpp
from grader.source.cpp import Call, Declare, Launch
from grader.source.cpp_reading import parse_expression, read_call, read_launch, variables
from grader.source.cuda_tree import by_kind, parse_cuda
from grader.source.declarators import clean_type
from grader.source.functions import Function, Kernel, read_functions
from grader.source.nodes import around, given_nodes, text
from grader.source.placed_text import PlacedText

IDENTIFIERS = ("identifier", "type_identifier", "field_identifier", "namespace_identifier")
_start = attrgetter("start_byte")


@dataclass(frozen=True, eq=False)
class Unit(PlacedText):
    """A text that reaches `cuda_sources` or `cpp_sources`."""

    @cached_property
    def syntax(self) -> Tree:
        """The tree; keeps `tree` alive."""
        return parse_cuda(self.data)

    @cached_property
    def tree(self) -> Node:
        """The root node, by tree-sitter's CUDA grammar."""
        return self.syntax.root_node

    @cached_property
    def by_kind(self) -> Mapping[str, tuple[Node, ...]]:
        """The named nodes by kind, each kind in the order of the text: the tree, walked once."""
        return by_kind(self.tree)

    def nodes(self, *kinds: str) -> tuple[Node, ...]:
        """Return the named nodes of these kinds, each kind in the order of the text."""
        return tuple(node for kind in kinds for node in self.by_kind.get(kind, ()))

    def nodes_under(self, node: Node, kind: str) -> Iterator[Node]:
        """Yield the named nodes of one kind under a node, itself included, in the order of the text."""
        nodes = self.by_kind.get(kind, ())
        first = bisect_left(nodes, node.start_byte, key=_start)
        last = bisect_left(nodes, node.end_byte, key=_start)
        return (one for one in nodes[first:last] if one.end_byte <= node.end_byte)

    def is_switched_off(self, node: Node) -> bool:
        """Whether a node is switched off by `#if 0`."""
        return any(start <= node.start_byte < end for start, end in self._switched_off)

    @cached_property
    def _switched_off(self) -> tuple[tuple[int, int], ...]:
        """The stretches that `#if 0` switches off."""
        found = []
        for node in self.nodes("preproc_if"):
            if text(node.child_by_field_name("condition")) in {"0", "false"}:
                alternative = node.child_by_field_name("alternative")
                end = alternative.start_byte if alternative is not None else node.end_byte
                found.append((node.start_byte, end))
        return tuple(found)

    @cached_property
    def names(self) -> Mapping[str, tuple[Node, ...]]:
        """Every identifier of any role, with its nodes."""
        found: dict[str, list[Node]] = {}
        for node in sorted(self.nodes(*IDENTIFIERS), key=_start):
            if not self.is_switched_off(node):
                found.setdefault(text(node), []).append(node)
        return {name: tuple(nodes) for name, nodes in found.items()}

    def uses_of(self, name: str) -> Iterator[Node]:
        """Yield the places where a variable or function is named; members of the same name are included."""
        yield from (node for node in self.names.get(name, ()) if node.type == "identifier")

    @cached_property
    def calls(self) -> tuple[Call, ...]:
        """All calls but kernel launches, in the order of the text."""
        return tuple(
            read_call(node)
            for node in self.nodes("call_expression")
            if not any(child.type == "kernel_call_syntax" for child in node.children)
            and not self.is_switched_off(node)
        )

    def calls_under(self, node: Node) -> Iterator[Call]:
        """Yield the calls under a node, in the order of the text."""
        start, end = node.start_byte, node.end_byte
        return (call for call in self.calls if start <= call.node.start_byte < end)

    @cached_property
    def functions(self) -> tuple[Function, ...]:
        """All functions with a body, in order, kernels included."""
        return tuple(function for function in self._all_functions if function.body is not None)

    def function_named(self, name: str) -> Function | None:
        """Return the last function of that name with a body."""
        return next((one for one in reversed(self.functions) if one.name == name), None)

    def function_around(self, node: Node) -> Function | None:
        """Return the function definition around a node."""
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
        """Starts of the functions, the furthest ends up to each, and the functions themselves."""
        functions = sorted(self.functions, key=lambda function: function.node.start_byte)
        starts = [function.node.start_byte for function in functions]
        reach = list(accumulate((function.node.end_byte for function in functions), max))
        return starts, reach, functions

    def in_device_code(self, node: Node) -> bool:
        """Whether a node is in a kernel or a device function."""
        function = self.function_around(node)
        return function is not None and function.runs != "host"

    @cached_property
    def declarations(self) -> tuple[Function, ...]:
        """Prototypes without a body."""
        return tuple(function for function in self._all_functions if function.body is None)

    @cached_property
    def _all_functions(self) -> tuple[Function, ...]:
        return tuple(read_functions(self.by_kind))

    @cached_property
    def kernels(self) -> tuple[Kernel, ...]:
        """`__global__` functions with a body."""
        return tuple(function for function in self.functions if isinstance(function, Kernel))

    @cached_property
    def device_functions(self) -> tuple[Function, ...]:
        """`__device__` functions."""
        return tuple(function for function in self.functions if function.runs == "device")

    @cached_property
    def host_functions(self) -> tuple[Function, ...]:
        """Functions of the host."""
        return tuple(function for function in self.functions if function.runs == "host")

    @cached_property
    def launches(self) -> tuple[Launch, ...]:
        """Each `<<<...>>>`."""
        return tuple(map(read_launch, self.nodes("kernel_call_syntax")))

    def launches_in(self, function: Function) -> tuple[Launch, ...]:
        """Return the launches of a host function's own body."""
        return tuple(one for one in self.launches if self.function_around(one.node) is function)

    @cached_property
    def shared(self) -> tuple[Declare, ...]:
        """All shared arrays, those at file scope included."""
        return tuple(
            one for node in self.nodes("declaration") for one in variables(node) if one.shared
        )

    @cached_property
    def bindings(self) -> tuple[PythonBinding, ...]:
        """The text's own exports with `m.def`."""
        return tuple(read_python_bindings(self.nodes("call_expression")))

    @cached_property
    def includes(self) -> tuple[str, ...]:
        """Names of included headers, without brackets or quotes."""
        return tuple(
            text(node.child_by_field_name("path")).strip('<>"')
            for node in self.nodes("preproc_include")
        )

    @cached_property
    def macros(self) -> Mapping[str, Macro]:
        """Each `#define`; the last definition counts."""
        nodes = (*self.nodes("preproc_def"), *self.nodes("preproc_function_def"))
        return {macro.name: macro for macro in map(read_macro, nodes)}

    @cached_property
    def constants(self) -> Mapping[str, Declare]:
        """The variables that are declared outside of functions."""
        return {one.name: one for node in self._outside("declaration") for one in variables(node)}

    @cached_property
    def type_names(self) -> Mapping[str, str]:
        """Type aliases at file scope."""
        names = (("alias_declaration", "name"), ("type_definition", "declarator"))
        return {
            text(node.child_by_field_name(name)): clean_type(text(node.child_by_field_name("type")))
            for kind, name in names
            for node in self._outside(kind)
        }

    def _outside(self, kind: str) -> Iterator[Node]:
        """Yield the nodes of a kind outside functions."""
        for node in self.nodes(kind):
            if all(outer.type != "function_definition" for outer in around(node)):
                yield node


@dataclass(frozen=True, slots=True, eq=False)
class Macro:
    """A `#define`; `parameters` is None for one without parentheses."""

    name: str
    parameters: tuple[str, ...] | None
    value: str
    node: cpp.Node

    @property
    def expr(self) -> cpp.Expr | None:
        """Its value, if that is an expression."""
        return parse_expression(self.value)


def read_macro(node: cpp.Node) -> Macro:
    """Read a `#define`."""
    given = node.child_by_field_name("parameters")
    names = tuple(map(text, given.named_children)) if given is not None else None
    value = text(node.child_by_field_name("value")).split("//")[0].replace("\\\n", " ").strip()
    return Macro(text(node.child_by_field_name("name")), names, value, node)


@dataclass(frozen=True, eq=False)
class PythonBinding:
    """One `m.def("name", &function)`."""

    name: str
    target: str
    node: Node


def read_python_bindings(calls: Iterable[Node]) -> Iterator[PythonBinding]:
    """Yield what a text exports to Python itself with `m.def`."""
    for call in calls:
        callee, arguments = (call.child_by_field_name(name) for name in ("function", "arguments"))
        if callee is None or arguments is None or callee.type != "field_expression":
            continue
        if any(text(outer).startswith("TORCH_LIBRARY") for outer in [*around(call)][:-1]):
            continue  # an operator's schema: torch.ops has it, and the module exports nothing
        given = given_nodes(arguments)
        if text(callee.child_by_field_name("field")) == "def" and len(given) >= 2:
            name, target = text(given[0]).strip('"'), text(given[1]).lstrip("&")
            yield PythonBinding(name, target.rsplit("::", 1)[-1], call)
