"""The launch and the result of a kernel whose threads each reduce one dimension, as its text tells them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from grader.source.cuda_code import descendants, text

if TYPE_CHECKING:
    from grader.source import Kernel

THREADS = 256
SIZES = (
    (r"n|b|batch|batch_size|num_batches", "{t}.size(0)"),
    (r"c|channels|num_channels|in_channels", "{t}.size(1)"),
    (r"h|height", "{t}.size(2)"),
    (r"w|width", "{t}.size(3)"),
    (
        r"spatial|spatial_size|hw|inner|inner_size|plane",
        "{t}.numel() / ({t}.size(0) * {t}.size(1))",
    ),
    (r"rows|num_rows|outer|outer_size", "{t}.numel() / {t}.size(-1)"),
    (r"cols|columns|dim|features|num_features|hidden|hidden_size", "{t}.size(-1)"),
)
"""What authors call a tensor's sizes, and how torch gives them."""


@dataclass(frozen=True)
class Launch:
    """How a kernel is launched, and what it makes."""

    grid: str
    sizes: dict[str, str]
    """What the launch passes for each of the kernel's sizes."""
    reduced: int
    """Dimension of the first tensor that the result lacks."""


def launch_of(kernel: Kernel, tensor: str, numbers: list[str]) -> Launch | None:
    """Return the launch that a kernel's indices and guards ask for; None where they don't tell it.

    `numbers` are the sizes that the function is given itself.
    """
    integers = [p.name for p in kernel.parameters if not p.is_pointer and "int" in p.type]
    sizes = {name: name if name in numbers else size_of(name, tensor) for name in integers}
    words = text(kernel.body)
    axes = _axes(kernel, words)
    stored = _stored(words, kernel)
    if not axes or not all(sizes.values()) or len(stored) != len(axes):
        return None
    if set(stored) != {bound for _, bound in axes} or not set(stored) <= set(sizes):
        return None
    blocks = [
        f"({sizes[bound]} + {THREADS - 1}) / {THREADS}" if threads else sizes[bound]
        for threads, bound in axes
    ]
    left = [name for name in integers if name not in stored]
    reduced = [_dimension(name) for name in left if re.search(rf"<\s*{name}\b", words)]
    if len(left) != 1 or len(reduced) != 1 or reduced[0] is None:
        return None
    return Launch(f"dim3({', '.join(blocks)})", sizes, reduced[0])


def size_of(name: str, tensor: str) -> str:
    """Return what a size of that name is in a tensor; empty where the name tells nothing."""
    for pattern, words in SIZES:
        if re.fullmatch(pattern, name, re.IGNORECASE):
            return words.format(t=tensor)
    return ""


def _dimension(name: str) -> int | None:
    """Return the dimension whose size has such a name, where it may be the one that is reduced."""
    return {"t.size(1)": 1, "t.size(-1)": -1}.get(size_of(name, "t"))


def _axes(kernel: Kernel, words: str) -> list[tuple[bool, str]]:
    """Return for x, then y, whether threads go along it, and the size that the index there is less than."""
    found: dict[str, tuple[bool, str]] = {}
    for declared in descendants(kernel.node, "init_declarator"):
        value = text(declared.child_by_field_name("value"))
        name = text(declared.child_by_field_name("declarator"))
        axis = re.search(r"blockIdx\.([xyz])", value)
        guard = re.search(rf"\b{re.escape(name)}\s*(?:<|>=)\s*(\w+)", words)
        if axis and guard:
            found.setdefault(axis[1], ("threadIdx.x" in value, guard[1]))
    axes = [found[axis] for axis in "xyz"[: len(found)] if axis in found]
    return axes if len(axes) == len(found) and sum(threads for threads, _ in axes) == 1 else []


def _stored(words: str, kernel: Kernel) -> list[str]:
    """Return the sizes that the index of the one store is made of: `[batch, spatial]` of `y[b * spatial + s]`."""
    outputs = [p.name for p in kernel.parameters if p.is_pointer and "const" not in p.type]
    if len(outputs) != 1:
        return []
    stores = re.findall(rf"\b{re.escape(outputs[0])}\[([^\]]+)\]\s*=[^=]", words)
    parts = (
        re.fullmatch(r"(\w+) \* (\w+) \+ (\w+)", stores[0].strip()) if len(stores) == 1 else None
    )
    names = [parts[1], parts[3]] if parts else re.findall(r"^\w+$", stores[0]) if stores else []
    bounds = [re.search(rf"\b{name}\s*(?:<|>=)\s*(\w+)", words) for name in names]
    found = [bound[1] for bound in bounds if bound]
    return found if len(found) == len(names) and (not parts or found[1] == parts[2]) else []
