"""Provenance of values in a run on the simulator, in terms of the program's tensors.

The simulator records addresses and element sizes (native/provenance.hpp). Here they become boxes of known tensors, for
the report. They are explanations only, not part of the verdict.
"""

from __future__ import annotations

import ctypes
import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch

MOST_ROOTS = 1 << 20
"""Number of results' elements traced together."""
_parse = json.loads


def tell(
    runtime: Any,
    take_text: Callable[[int], str],
    tensors: Iterable[tuple[str, torch.Tensor]],
    outputs: Sequence[Any],
    asked: Sequence[Sequence[int]],
) -> dict[str, Any]:
    """Return the touched memory, and the sources of the requested elements (output, flat index); None if none is requested."""
    if not asked:
        return {}
    known = [(role, t) for role, t in tensors if t.layout == torch.strided and t.numel()]
    seen = dict(_parse(take_text(runtime.kgsim_provenance_touched())))
    accesses = seen["accesses"]
    _add_boxes(runtime, accesses, [tensor for _, tensor in known])
    seen["tensors"] = [_describe_tensor(role, tensor) for role, tensor in known]
    flat = [_addresses(tensor) for tensor in outputs]
    chosen = [int(flat[o][i]) for o, i in asked if o < len(flat) and i < len(flat[o])]
    seen["origins"] = _origins(runtime, take_text, chosen)
    seen["roots"] = "outputs"
    roots = torch.cat([*flat, torch.zeros(0, dtype=torch.int64)])[:MOST_ROOTS]
    if not any(seen["origins"]):  # torch computed forward's results from kernels' stores
        seen["roots"] = "stores"
        roots = _stored_addresses(runtime, accesses)
        seen["origins"] = _origins(runtime, take_text, roots.tolist(), together=True)
    seen["lost"] = _parse(take_text(runtime.kgsim_provenance_lost(_array(roots), len(roots))))
    return seen


def _origins(
    runtime: Any, take_text: Callable[[int], str], addresses: list[int], *, together: bool = False
) -> Any:
    given = _array(torch.tensor(addresses, dtype=torch.int64))
    told = runtime.kgsim_provenance_origins(given, len(addresses), together)
    return _parse(take_text(told))


def _array(addresses: torch.Tensor) -> Any:
    return (ctypes.c_uint64 * max(len(addresses), 1))(*addresses.tolist())


def _describe_tensor(role: str, tensor: torch.Tensor) -> dict[str, Any]:
    return {
        "role": role,
        "address": tensor.data_ptr(),
        "dtype": str(tensor.dtype).removeprefix("torch."),
        "item": tensor.itemsize,
        "shape": list(tensor.shape),
        "strides": list(tensor.stride()),
    }


def _addresses(tensor: Any) -> torch.Tensor:
    """Return the address of each element, in the order of the indices."""
    if not isinstance(tensor, torch.Tensor) or tensor.layout != torch.strided or not tensor.is_cuda:
        return torch.zeros(0, dtype=torch.int64)
    index = torch.zeros(tensor.shape, dtype=torch.int64)
    for dim, (size, stride) in enumerate(zip(tensor.shape, tensor.stride(), strict=True)):
        along = torch.arange(size) * stride
        index += along.reshape([-1 if d == dim else 1 for d in range(tensor.dim())])
    return index.flatten() * tensor.itemsize + tensor.data_ptr()


def _touched_elements(runtime: Any, number: int) -> torch.Tensor:
    count = runtime.kgsim_provenance_elements(number, None, 0)
    found = torch.zeros(count, dtype=torch.uint8)
    runtime.kgsim_provenance_elements(number, ctypes.c_void_p(found.data_ptr()), count)
    return found


def _stored_addresses(runtime: Any, accesses: Sequence[dict[str, Any]]) -> torch.Tensor:
    """Return the addresses that kernels stored to, of memory that no kernel read."""
    loaded = {access["base"] for access in accesses if access["what"] == "load"}
    found = [torch.zeros(0, dtype=torch.int64)]
    for number, access in enumerate(accesses):
        if access["what"] != "load" and access["base"] not in loaded:
            at = _touched_elements(runtime, number).nonzero().flatten()
            found.append(at * access["width"] + access["base"])
    return torch.cat(found).unique()[:MOST_ROOTS]


def _add_boxes(runtime: Any, accesses: Sequence[Any], tensors: Sequence[torch.Tensor]) -> None:
    """Add to each access the box of each tensor that its line touched, dim by dim."""
    masks: dict[Any, torch.Tensor] = {}
    lines: list[list[tuple[int, Any]]] = []
    for number, access in enumerate(accesses):
        lines.append([])
        for at, tensor in enumerate(tensors):
            mask = _mask(runtime, number, access, tensor)
            if mask is None:
                continue
            line = (at, access["file"], access["line"], access["what"], access["width"])
            lines[-1].append((at, line))
            masks[line] = mask | masks[line] if line in masks else mask
    boxes = {line: _box(mask, tensors[line[0]]) for line, mask in masks.items()}
    for access, found in zip(accesses, lines, strict=True):
        access["tensors"] = [{"tensor": at, **boxes[line]} for at, line in found]


def _mask(runtime: Any, number: int, access: Any, tensor: torch.Tensor) -> torch.Tensor | None:
    """Return a mask of the elements of a tensor's memory that an access touched; None for other memory."""
    start = tensor.data_ptr() - access["base"]
    if not 0 <= start < max(access["size"], 1):
        return None
    starts = _touched_elements(runtime, number).nonzero() * access["width"]
    touched = (starts + torch.arange(0, access["width"], tensor.itemsize)).flatten()
    flat = torch.div(touched - start, tensor.itemsize, rounding_mode="floor")
    extent = 1 + sum((n - 1) * s for n, s in zip(tensor.shape, tensor.stride(), strict=True))
    mask = torch.zeros(extent, dtype=torch.bool)
    mask[flat[(flat >= 0) & (flat < extent)]] = True
    return mask


def _box(mask: torch.Tensor, tensor: torch.Tensor) -> dict[str, Any]:
    laid_out = mask.as_strided(tensor.shape, tensor.stride())
    dims = [_range(laid_out, dim) for dim in range(tensor.dim())]
    return {"count": int(laid_out.sum()), "dims": dims}


def _range(mask: torch.Tensor, dim: int) -> list[int]:
    """Return first, last, step (0: none) and number of the indices along a dim that are touched."""
    others = [d for d in range(mask.dim()) if d != dim]
    along = (mask.any(dim=others) if others else mask).nonzero().flatten()
    if not len(along):
        return [0, -1, 0, 0]
    steps = along.diff().unique().tolist()
    step = 1 if not steps else steps[0] if len(steps) == 1 else 0
    return [int(along[0]), int(along[-1]), int(step), len(along)]
