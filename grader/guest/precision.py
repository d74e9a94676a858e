"""Torch's reduced-precision switches for float32 that a program has turned on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

_C: Any = torch._C
_FULL = {"none", "ieee"}


def _asks(operator: str) -> bool:
    return _C._get_fp32_precision_getter("cuda", operator) not in _FULL


_SWITCHES: Mapping[str, tuple[Callable[[], bool], ...]] = {
    "torch.backends.cuda.matmul.allow_tf32": (
        lambda: _asks("matmul"),
        lambda: _C._get_float32_matmul_precision() != "highest",
    ),
    "torch.backends.cudnn.allow_tf32": (
        lambda: _asks("conv"),
        lambda: bool(_C._get_cudnn_allow_tf32()),
    ),
    'torch.autocast("cuda")': (lambda: torch.is_autocast_enabled("cuda"),),
}
"""Queries by the switches' usual names, those of newer versions of torch first."""


def full() -> None:
    """Switch TF32 off, so that the program itself must have switched it on. cuDNN's is on by default."""
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False


def switched_on() -> list[str]:
    """Return the switches that are on now."""
    return [name for name, ways in _SWITCHES.items() if _is_on(ways)]


def _is_on(ways: Sequence[Callable[[], bool]]) -> bool:
    """Return the result of the first query that this version of torch supports; False where there is none."""
    for way in ways:
        try:
            return way()
        except (RuntimeError, AttributeError, TypeError):
            continue
    return False
