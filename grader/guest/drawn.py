"""Random numbers of a reference in float64 that are those of the same call in float32."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

DRAWING = frozenset({torch.rand, torch.randn, torch.rand_like, torch.randn_like})


class DrawnInSingle(TorchFunctionMode):  # type: ignore[misc]
    """Draws in float32 and widens: under one seed a generator gives other numbers for other dtypes.

    Without it the two results of a model that draws its first state in `forward` have nothing in common.
    """

    def __torch_function__(
        self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Any = None
    ) -> Any:
        given = dict(kwargs or {})
        if func not in DRAWING:
            return func(*args, **given)
        like = args[0].dtype if args and isinstance(args[0], torch.Tensor) else None
        if given.get("dtype", like) not in {None, torch.float64}:
            return func(*args, **given)
        return func(*args, **{**given, "dtype": torch.float32}).double()
