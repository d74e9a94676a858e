"""torch's operators in the exact algebra, beside their ordinary run on the simulator.

The elements of an operator's result come from its formula (exact_rules.py). An operator that can't be followed is
named, and its results count as constants.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch._decomp import decomposition_table
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from grader.guest.exact import Algebra
from grader.guest.exact_rules import POINTWISE, RULES


def warm_up() -> None:
    """Load the modules of torch's decompositions, which torch does at the first of them."""
    decomposition_table[torch.ops.aten.native_layer_norm.default](
        torch.zeros(1, 2), [2], None, None, 1.0
    )


class ExactRun(TorchDispatchMode):  # type: ignore[misc]
    """Follows the operators that run below it."""

    def __init__(
        self, runtime: Any, key: int, *, epsilon: bool = True, literals: Sequence[float] = ()
    ) -> None:
        super().__init__()
        self.algebra = Algebra(runtime, key, epsilon=epsilon, literals=literals)
        self.unfollowed: set[str] = set()

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        given = kwargs or {}
        if not any(map(self.algebra.has_elements, tree_leaves((args, given)))):
            return func(*args, **given)
        if func.is_view:  # or a copy, for composite operators: `to`, `reshape`
            with self:
                result = func.decompose(*args, **given)
            return func(*args, **given) if result is NotImplemented else result
        name = func._schema.name.removeprefix("aten::").removeprefix("prims::")
        name = name if name.startswith("_") else name.removesuffix("_")
        apart = decomposition_table.get(func)
        if name not in RULES:
            with self:  # by torch's own decomposition or composite definition
                result = (apart or func.decompose)(*args, **given)
            if result is not NotImplemented:
                return result
        elements = self._elements(name, func, args, given)
        result = func(*args, **given)
        results = result if isinstance(result, (tuple, list)) else (result,)
        if elements is NotImplemented:
            self._note(name, results)
            elements = tuple(torch.zeros(2, dtype=torch.int64) for _ in results)
        found = elements if isinstance(elements, tuple) else (elements,)
        for one, its_elements in zip(results, found, strict=False):
            self.algebra.write(one, its_elements)
        return result

    def _elements(self, name: str, func: Any, args: Any, given: Any) -> Any:
        """Return the elements of an operator's results; NotImplemented where no rule gives them."""
        if name not in RULES:
            return NotImplemented
        try:
            elements = RULES[name](self.algebra, func, *args, **given)
        except (TypeError, ValueError, RuntimeError, NotImplementedError):
            return NotImplemented
        if name not in POINTWISE or elements is NotImplemented:
            return elements
        # A result of constants alone is a constant, as in a kernel.
        return elements * self.algebra.has_element(tree_leaves((args, given)))[..., None]

    def _note(self, name: str, results: Any) -> None:
        if any(isinstance(r, torch.Tensor) and r.is_floating_point() for r in results):
            self.unfollowed.add(name)
