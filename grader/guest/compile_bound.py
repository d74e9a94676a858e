"""What Triton compiles anew in a changed call: no kernel whose blocks are much larger than those of the unchanged one."""

from __future__ import annotations

import sys
from typing import Any

LARGER = 8
"""How much larger a number that a kernel is compiled for may be: a block of a million elements compiles for minutes."""


class CompileBound:
    """Notes the largest number that kernels are compiled for, and refuses larger ones once it is `closed`."""

    def __init__(self) -> None:
        self.closed = False
        self._largest = 1
        if triton := sys.modules.get("triton"):
            triton.knobs.runtime.jit_cache_hook = self.refuses

    def refuses(self, *, compile: dict[str, Any], **_: Any) -> bool:  # noqa: A002 - Triton's own name for it
        """Whether a kernel is not to be compiled; Triton asks before it does so."""
        known = compile["constants"].values()
        largest = max((one for one in known if isinstance(one, int)), default=1)
        if self.closed:
            return largest > LARGER * self._largest
        self._largest = max(self._largest, largest)
        return False
