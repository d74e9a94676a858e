"""Floating-point operations of a call, counted as torch dispatches it.

Products and convolutions by torch's own formulas (torch.utils.flop_counter, as Chowdhery et al., PaLM,
2022, appendix B, count); every other operator as one operation for each element of the largest tensor
that it takes or gives, which is an estimate.
"""

from __future__ import annotations

from math import prod
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import flop_registry


class OperationCount(TorchDispatchMode):  # type: ignore[misc]
    """Counts the operations inside its context."""

    def __init__(self) -> None:
        super().__init__()
        self.products = 0
        """Operations of products and convolutions."""
        self.others = 0

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        named = kwargs or {}
        result = func(*args, **named)
        formula = flop_registry.get(func._overloadpacket)
        if formula is not None:
            self.products += int(formula(*args, **named, out_val=result))
        elif not func.is_view and (given := _largest((args, named))):
            self.others += max(given, _largest(result))
        return result


def _largest(values: Any) -> int:
    tensors = (leaf for leaf in tree_leaves(values) if isinstance(leaf, torch.Tensor))
    return max((prod(tensor.shape) for tensor in tensors), default=0)
