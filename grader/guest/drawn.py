"""Makes a reference in float64 draw the same random numbers as the call in float32."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

DRAWING = frozenset({torch.rand, torch.randn, torch.rand_like, torch.randn_like})


class DrawnInSingle(TorchFunctionMode):  # type: ignore[misc]
    """Draws in float32 and widens, since a generator's numbers for one seed depend on the dtype.

    Without it the two results of a model that draws its initial state in `forward` would be unrelated.
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
