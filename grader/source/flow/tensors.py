"""The tensors of host code: factories, methods, and `dim3`."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from typing import Any

from grader.source.cpp import Call, Node

FRESH = {
    **dict.fromkeys(("empty", "empty_like", "empty_strided", "new_empty"), "empty"),
    **dict.fromkeys(("zeros", "zeros_like", "new_zeros"), "zeros"),
    **dict.fromkeys(("full", "full_like", "ones", "ones_like", "rand", "randn"), "filled"),
}
"""Factories, with the initial contents of memory."""
KEEPS_SIZES = frozenset({"contiguous", "clone", "detach", "to", "cuda", "cpu", "float", "half", "type", "toType"})  # fmt: skip
FACTS = frozenset({"scalar_type", "options", "device", "dtype", "is_cuda", "is_contiguous", "get_device", "stride", "nbytes"})  # fmt: skip
POINTERS = frozenset({"data_ptr", "data", "mutable_data_ptr", "const_data_ptr"})


@dataclass(slots=True, eq=False)
class Tensor:
    """A host tensor, or a pointer to its memory, with its origin and known sizes."""

    name: str
    sizes: tuple[int, ...] | None = None
    origin: str = "input"
    """`input`, `empty`, `zeros`, `filled`, `clone`, `contiguous`, `derived`."""
    source: Tensor | None = None
    """The tensor that it was made from."""
    node: Node = None
    touched: set[str] = field(default_factory=set)
    """The host's operations on it: `zero_`, `copy_`, ..., or `library` if passed to one."""

    @property
    def numel(self) -> int | None:
        """Number of elements."""
        return None if self.sizes is None else prod(self.sizes)


def made_tensor(call: Call, sizes: Any) -> Tensor:
    """Return the tensor that a factory makes, of sizes or like another tensor."""
    if isinstance(sizes, Tensor):
        sizes = sizes.sizes
    known = isinstance(sizes, tuple) and all(isinstance(size, int) for size in sizes)
    return Tensor(call.name, sizes if known else None, FRESH[call.name], None, call.node)


def of_method(tensor: Tensor, call: Call, args: list[Any]) -> Any:
    """Return the result of a tensor's method; a pointer is represented by its tensor."""
    name, sizes = call.name, tensor.sizes
    if name == "size" and args and isinstance(args[0], int) and sizes is not None:
        return sizes[args[0]] if -len(sizes) <= args[0] < len(sizes) else None
    if name in {"dim", "ndimension"}:
        return len(sizes) if sizes is not None else None
    if name in {"numel", "sizes"}:
        return tensor.numel if name == "numel" else sizes
    if name in POINTERS or name.endswith("_"):  # in place, by torch's convention
        return tensor
    if name in FRESH:
        return made_tensor(call, args[0] if args else None)
    if name in FACTS or name == "size":
        return None
    origin = name if name in {"contiguous", "clone"} else "derived"
    kept = sizes if name in KEEPS_SIZES else None
    return Tensor(tensor.name if origin != "derived" or kept else name, kept, origin, tensor, call.node)  # fmt: skip
