"""Exact rules of operators that move elements, or sum them with integer weights."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils._pytree import tree_flatten, tree_unflatten

from grader.guest import tensors
from grader.guest.exact import Algebra
from grader.guest.exact_table import rule


@rule(
    "clone", "_to_copy", "copy", "_copy_from", "cat", "stack", "index", "_unsafe_index", "index_select", "gather", "flip", "roll", "repeat",
    "lift_fresh_copy", "contiguous", "expand_copy", "take", "tril", "triu", "embedding", "convert_element_type", "alias_copy", "diagonal_copy",
)  # fmt: skip
def _move_residues(m: Algebra, func: Any, *args: Any, **named: Any) -> Any:
    """Apply the operator to each residue; numbers that it fills in become 0, which is no element."""
    name = str(func)
    if "copy_" in name or "_copy_from" in name:
        target, source = (args[1], args[0]) if "_copy_from" in name else (args[0], args[1])
        return m.read(source).expand(*target.shape, 2)
    if "_to_copy" in name or "convert_element_type" in name or "clone" in name:
        return m.read(args[0])
    leaves, form = tree_flatten((args, named))
    halves = []
    for k in (0, 1):
        changed = [
            (m.read(v)[..., k].contiguous() if v.is_floating_point() else tensors.to_cpu(v))
            if isinstance(v, torch.Tensor)
            else v
            for v in leaves
        ]
        plain, named_plain = tree_unflatten(changed, form)
        halves.append(func(*plain, **named_plain))
    return torch.stack(halves, -1)


@rule("constant_pad_nd", "pad")
def _pad(m: Algebra, func: Any, a: Any, sizes: Any, *_: Any, **_named: Any) -> Any:
    known = m.read(a)
    return torch.stack([func(known[..., k].contiguous(), sizes, 0) for k in (0, 1)], -1)


@rule(
    "reflection_pad1d", "reflection_pad2d", "reflection_pad3d", "replication_pad1d", "replication_pad2d", "replication_pad3d", "cumsum", "im2col",
    "col2im", "upsample_nearest1d", "upsample_nearest2d", "upsample_nearest3d", "pixel_shuffle", "_trilinear", "trace",
)  # fmt: skip
def _linear(m: Algebra, func: Any, a: Any, *rest: Any, **named: Any) -> Any:
    return m.linear(lambda digits: func(digits, *rest, **named), m.as_elements(a))


@rule(
    "full_like", "zeros_like", "ones_like", "empty_like", "new_full", "new_zeros", "new_ones", "new_empty", "new_empty_strided",
)  # fmt: skip
def _fill_zeros(_m: Algebra, _: Any, *_args: Any, **_named: Any) -> Any:
    return torch.zeros(2, dtype=torch.int64)
