"""Storage dtypes of a composed `forward`'s values: half precision stays half where only formulas read it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from grader.repair.compose.graph import MOVES, Graph, Node, Ref
from grader.repair.compose.groups import Group, Grouping

C_TYPES = {
    "float32": "float", "float16": "at::Half", "bfloat16": "at::BFloat16", "bool": "bool",
    "uint8": "uint8_t", "int8": "int8_t", "int32": "int", "int64": "int64_t",
}  # fmt: skip
"""Kernel type of each dtype; every formula computes in float."""
KINDS = {
    "float": "torch::kFloat32", "at::Half": "torch::kFloat16", "at::BFloat16": "torch::kBFloat16", "bool": "torch::kBool",
    "uint8_t": "torch::kUInt8", "int8_t": "torch::kInt8", "int": "torch::kInt32", "int64_t": "torch::kInt64",
}  # fmt: skip
BYTES = {"float": 4, "at::Half": 2, "at::BFloat16": 2, "bool": 1, "uint8_t": 1, "int8_t": 1, "int": 4, "int64_t": 8}  # fmt: skip
WIDEST = 16
"""Bytes that a thread moves at once at most."""
MOVED_HALF = {"layer_norm", "group_norm", "instance_norm", "batch_norm", "softmax", "log_softmax"}
"""Operations whose own kernel reads and writes half precision as it is."""
READ_HALF = MOVED_HALF | {
    "sum", "mean", "prod", "max", "min", "argmax", "argmin", "amax", "amin", "logsumexp", "conv", "conv_transpose",
}  # fmt: skip
"""Operations whose own kernel reads half precision as it is."""


@dataclass(frozen=True)
class Storage:
    """The types of a graph's values."""

    graph: Graph
    grouping: Grouping

    def dtype(self, node: Node) -> str:
        """Return the dtype of a node's value in memory."""
        return self._types[node.name]

    @cached_property
    def _types(self) -> dict[str, str]:
        """The dtype of each node's value: what is moved has the type of what it is made of, which stands before it."""
        found: dict[str, str] = {}
        for node in self.graph.nodes:
            kept = bool(node.half) and self._is_kept_half(node, found)
            found[node.name] = node.half if kept else node.dtype or "float32"
        return found

    def _is_kept_half(self, node: Node, before: Mapping[str, str]) -> bool:
        """Whether a value stays in half precision: an input for formulas and reductions, a formula's or a norm's result that is returned."""
        if node.op == "placeholder":
            return self._is_only_used(node, by_formulas=True)
        if node.op in MOVES:
            return all(self._moves_half(one, node.half, before) for one in self._moved_nodes(node))
        writes = self._is_fused(node) or node.op in MOVED_HALF
        return writes and self._is_only_used(node, by_formulas=False)

    def _moved_nodes(self, node: Node) -> list[Node]:
        """Return what is moved; sizes that are given beside it are numbers."""
        first = next(iter((*node.args, *node.kwargs.values())), None)
        items = first if isinstance(first, list | tuple) else [first]
        return [self.graph.node(item.name) for item in items if isinstance(item, Ref)]

    @staticmethod
    def _moves_half(source: Node, half: str, before: Mapping[str, str]) -> bool:
        """Whether what a move takes lies in half precision, or is itself several tensors that were only moved."""
        return source.op in MOVES if source.shape is None else before[source.name] == half

    def _is_fused(self, node: Node) -> bool:
        return isinstance(self.grouping.of[node.name], Group)

    def _is_only_used(self, node: Node, *, by_formulas: bool) -> bool:
        """Whether a value goes, moved or not, into results alone, or into formulas as well."""
        reached, waiting = {node.name}, [node.name]
        while waiting:
            source = waiting.pop()
            for user in self.graph.users(source):
                if self.grouping.of[user.name] is self.grouping.of[node.name]:
                    continue  # inside the kernel it has not been rounded
                if user.op in MOVES and user.name not in reached:
                    reached.add(user.name)
                    waiting.append(user.name)
                elif user.op not in MOVES | {"output", "size"} and not (
                    by_formulas and (self._is_fused(user) or _reads_half(user, source))
                ):
                    return False
        return True


def _reads_half(user: Node, source: str) -> bool:
    """Whether an operation's own kernel takes a value in half precision: weights it takes in float32."""
    return user.op in READ_HALF and user.inputs[0] == source


def pack(types: tuple[str, ...]) -> int:
    """Return the number of neighbours that a thread moves at once: 16 bytes of the widest type, at most 8."""
    return min(8, WIDEST // max(BYTES[one] for one in types))
