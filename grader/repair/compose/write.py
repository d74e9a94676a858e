"""A composed kernel's `forward`: one call for each stage, and data movement between them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import Any

from grader.repair.compose.fused import Fused
from grader.repair.compose.graph import (
    FUNCTIONS,
    LAYOUT,
    RANDOM,
    RENAMINGS,
    VIEWS,
    Graph,
    Node,
    Ref,
    UncoveredError,
)
from grader.repair.compose.groups import Group, Grouping, Unit
from grader.repair.compose.lower import IDENTITY, lower
from grader.repair.compose.passes import walk
from grader.repair.compose.pointwise import COMPARED, is_pointwise
from grader.repair.compose.program import program, sources
from grader.repair.compose.stage import Call, Stage, Writer
from grader.repair.compose.stages import STAGES
from grader.repair.compose.storage import BYTES, C_TYPES, KINDS, Storage, pack

LONG_ROW = 1024
"""Elements of a row from which moving them in packs pays for its ends."""
NUMBERS = {"add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "**"}  # fmt: skip
SINGLE = {"neg": "-{}", "int": "int({})"}
ATTRIBUTES = {"shape", "T", "mT", "ndim", "device", "dtype"}
PARTS = {"values": 0, "indices": 1}
NAMES = dict.fromkeys(("layer_norm", "group_norm", "instance_norm"), "normalise")
"""Names of functions shared by several operations."""
CHAIN = 4
"""Operations that the name of a fused kernel tells at most."""
LOSS = Stage("loss", "cross_entropy.cu.jinja")


@dataclass(frozen=True)
class Composed:
    """A written program."""

    code: str
    families: tuple[str, ...]
    """Families of its stages, in the order of their first use."""


def compose(reference: str, traced: Graph, title: str, extension: str) -> Composed:
    """Return `ModelNew` for a reference whose graph is known.

    Raises UncoveredError, with the reason, where an operation of it is of no family.
    """
    body = _Body(lower(traced))
    lines = body.write_lines()
    if not body.stages:
        raise UncoveredError("nothing in it needs a kernel")
    families = tuple(dict.fromkeys(stage.family for stage in body.stages))
    cuda, declarations = sources(body.stages)
    given = tuple(node.path for node in traced.nodes if node.op == "placeholder")
    code = program(reference, title, extension, cuda, declarations, lines, given)
    return Composed(code, families)


@dataclass
class _Body:
    """The statements of `forward`."""

    graph: Graph
    stages: dict[Stage, str] = field(default_factory=dict)
    """Each stage and the name of its function."""
    to: Writer = field(init=False)
    grouping: Grouping = field(init=False)
    storage: Storage = field(init=False)

    def __post_init__(self) -> None:
        self.grouping = Grouping(self.graph)
        self.storage = Storage(self.graph, self.grouping)
        self.to = Writer(self.graph, self.storage)

    def write_lines(self) -> list[str]:
        given = [n for n in self.graph.nodes if n.op == "placeholder" and n.half]
        widened = [n.path for n in given if self.storage.dtype(n) != n.half]
        lines = [f"{name} = {name}.float()  # every sum in float32" for name in widened]
        if given and any(node.path for node in self.graph.nodes if node.op != "placeholder"):
            lines.insert(0, "self.float()  # the weights too: float32 holds them as they are")
        return [*lines, *filter(None, map(self._statement, self.grouping.units()))]

    def _statement(self, unit: Unit) -> str | None:
        """Return the statement for a group or a node; None where it needs none of its own."""
        if isinstance(unit, Group):
            return self._write_fused(unit)
        node = self.graph.node(unit)
        if node.op == "output":
            return f"return {self._narrow_result(node.args[0])}"
        words = self._expression(node)
        if words is None:
            return None
        self.to.names[unit] = unit
        return f"{unit} = {words}"

    def _expression(self, node: Node) -> str | None:
        """Return a node's value as Python text; None where it needs no statement of its own."""
        plain = self._plain(node)
        if plain:
            self.to.names[node.name] = plain
            return None
        if node.op == "tensor" and all(is_pointwise(user) for user in self.graph.users(node.name)):
            return None  # a number in a formula
        if node.shape is None and node.op in NUMBERS:
            a, b = (self.to.value(value) for value in node.args[:2])
            return f"{a} {NUMBERS[node.op]} {b}"
        if node.shape is None and node.op in SINGLE:
            return SINGLE[node.op].format(self.to.value(node.args[0]))
        if node.op in {"max", "min"} and node.shape is None:
            return None
        if node.op in STAGES and (node.op not in {"max", "min"} or node.argument(1, "dim") is None):
            return self._write_call(STAGES[node.op](node, self.to), node.op)
        return self._write_move(node)

    def _narrow_result(self, value: Any) -> str:
        """Return the code that casts one or several results to the reference's dtype."""
        if isinstance(value, list | tuple):
            return f"({', '.join(map(self._narrow_result, value))},)"
        node = self.to.node(value) if isinstance(value, Ref) else None
        if node is None or not node.half or self.storage.dtype(node) == node.half:
            return self.to.value(value)
        return f"{self.to.value(value)}.to(torch.{node.half})"

    def _write_call(self, call: Call, does: str) -> str:
        return call.text.replace("KERNEL", self._function(call.stage, does))

    def _plain(self, node: Node) -> str:
        """Return a node's inline expression: arguments, attributes, sizes; empty for others."""
        if node.op == "placeholder":
            return node.path
        if node.op == "get_attr":
            return node.own
        if node.op in IDENTITY and not self._lies_otherwise(node):
            return self.to.value(node.argument(0, "input"))
        if node.op == "getattr" and node.args[1] in ATTRIBUTES:
            return f"{self.to.value(node.args[0])}.{node.args[1]}"
        if node.op == "size" and isinstance(node.argument(1, "dim"), int):
            return f"{self.to.value(node.args[0])}.size({node.argument(1, 'dim')})"
        if node.op == "getitem" and self._is_shape(node.args[0]):
            return self._item(node)
        return ""

    def _lies_otherwise(self, node: Node) -> bool:
        """Whether a node puts elements in order that a view has left out of order, under whatever name it now has."""
        if node.op != "contiguous":
            return False
        made = self.to.node(node.args[0])
        while made.op in RENAMINGS and isinstance(made.args[0], Ref):
            made = self.to.node(made.args[0])
        return made.op in VIEWS

    def _is_shape(self, value: Any) -> bool:
        made = self.to.node(value) if isinstance(value, Ref) else None
        return made is not None and (
            made.op == "size" or (made.op == "getattr" and made.args[1] == "shape")
        )

    def _write_move(self, node: Node) -> str:
        """Return the code of data movement, and of special cases."""
        if node.op == "row_loss":
            return (
                f"{self._function(LOSS, 'loss')}({', '.join(self.to.value(a) for a in node.args)})"
            )
        if node.op == "getitem":
            return self._item(node)
        if node.op == "getattr":
            if node.args[1] in PARTS:
                return self._item(replace(node, args=(node.args[0], PARTS[node.args[1]])))
            raise UncoveredError(f"the attribute {str(node.args[1])[:40]}")
        if node.module == "Flatten":
            start, end = node.attributes["start_dim"], node.attributes["end_dim"]
            return f"{self.to.value(node.args[0])}.flatten({start}, {end})"
        given = [self.to.value(value) for value in node.args]
        named = [f"{key}={self.to.value(value)}" for key, value in node.kwargs.items()]
        if node.op in FUNCTIONS and not node.path:
            return f"{FUNCTIONS[node.op]}({', '.join((*given, *named))})"
        if node.op in LAYOUT and given and not node.path:
            return f"{given[0]}.{node.op}({', '.join((*given[1:], *named))})"
        if node.op in RANDOM:
            raise UncoveredError("its forward draws random numbers")
        raise UncoveredError(f"`{node.module or node.op}` isn't composed yet")

    def _item(self, node: Node) -> str:
        source = self.to.node(node.args[0]) if isinstance(node.args[0], Ref) else None
        if source is not None and source.op in {"max", "min"} and source.shape is None:
            op = source.op if node.args[1] == 0 else f"arg{source.op}"
            return self._write_call(STAGES[op](replace(source, op=op), self.to), op)
        index = node.args[1]
        items = index if isinstance(index, list | tuple) else [index]
        return f"{self.to.value(node.args[0])}[{', '.join(self.to.value(item) for item in items)}]"

    def _write_fused(self, group: Group) -> str:
        kernel = Fused(self.grouping, group)
        results = kernel.results()
        if any(
            node.op in COMPARED and not all(map(is_pointwise, self.graph.users(node.name)))
            for node in results
        ):
            raise UncoveredError("truth values as a result")
        given = [*map(self._operand, kernel.operands), *map(self.to.value, kernel.numbers)]
        for node in results:
            self.to.names[node.name] = node.name
        function = self._function(self._fused_stage(kernel), f"fused_{_chain(kernel.operations)}")
        return f"{', '.join(node.name for node in results)} = {function}({', '.join(given)})"

    def _fused_stage(self, kernel: Fused) -> Stage:
        results = [
            (C_TYPES[self.storage.dtype(node)], kernel.value(node)) for node in kernel.results()
        ]
        rows = [kernel.values[f"v{k}"].per_row for k in range(len(kernel.operands))]
        reads = [(self._type(ref), row) for ref, row in zip(kernel.operands, rows, strict=True)]
        moved = (*(one for one, row in reads if not row), *(one for one, _ in results))
        walked = walk(
            kernel.values, [value.name for _, value in results], [BYTES[one] for one, _ in reads]
        )
        values = (
            ("operands", tuple((one, KINDS[one], row) for one, row in reads)),
            ("results", tuple((one, KINDS[one], value.name, value.per_row) for one, value in results)),
            ("numbers", len(kernel.numbers)),
            ("pack", pack(moved)),
            ("walk", walked),
        )  # fmt: skip
        if kernel.group.reduces:
            ragged = ("ragged", self._is_ragged(kernel, rows, pack(moved)))
            return Stage("rows", "rows.cu.jinja", (*values, ragged))
        alike = self._are_alike(kernel)
        return Stage("elementwise", "alike.cu.jinja" if alike else "pointwise.cu.jinja", values)

    def _are_alike(self, kernel: Fused) -> bool:
        """Whether operands and results have one shape, and none is a view that leaves gaps or another order."""
        nodes = [self.to.node(ref) for ref in kernel.operands]
        shapes = {node.shape for node in (*nodes, *kernel.results())}
        return len(shapes) == 1 and not any(node.op in VIEWS for node in nodes)

    def _is_ragged(self, kernel: Fused, per_row: list[bool], width: int) -> bool:
        """Whether rows of one length, all of their own tensors, begin anywhere among the packs that a thread moves."""
        whole = (ref for ref, row in zip(kernel.operands, per_row, strict=True) if not row)
        shapes = {self.to.node(ref).shape for ref in whole}
        shape = shapes.pop() if len(shapes) == 1 else None
        if not shape:
            return False
        return shape[-1] >= LONG_ROW and shape[-1] % width > 0

    def _type(self, ref: Ref) -> str:
        """Return the type in which a formula's kernel reads an operand; other types are converted before."""
        return C_TYPES.get(self.storage.dtype(self.to.node(ref)), "float")

    def _operand(self, ref: Ref) -> str:
        known = self.storage.dtype(self.to.node(ref)) in C_TYPES
        return self.to.value(ref) if known else f"{self.to.value(ref)}.float()"

    def _function(self, stage: Stage, does: str) -> str:
        """Return the name of a stage's function in `forward`: its operation, with a number from the second on."""
        if stage not in self.stages:
            name = f"{NAMES.get(does, does)}_forward"
            taken = sum(re.sub(r"_\d+$", "", other) == name for other in self.stages.values())
            self.stages[stage] = f"{name}_{taken + 1}" if taken else name
        return f"EXTENSION.{self.stages[stage]}"


def _chain(done: list[str]) -> str:
    """Return a name for a chain of operations: the first few of them."""
    more = len(done) - CHAIN
    return "_".join(done[:CHAIN]) + (f"_and_{more}_more" if more > 0 else "")
