"""Log of torch's operators in a call of forward, as seen from Python."""

from __future__ import annotations

from collections import Counter
from typing import Any

from torch.utils._python_dispatch import TorchDispatchMode


class OperatorLog(TorchDispatchMode):  # type: ignore[misc]
    """Counts the torch operators inside its context."""

    def __init__(self, counts: Counter[str]) -> None:
        super().__init__()
        self._counts = counts

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        # Otherwise the first operator imports torch's compiler, which takes seconds.
        return False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self._counts[str(func)] += 1
        return func(*args, **(kwargs or {}))
