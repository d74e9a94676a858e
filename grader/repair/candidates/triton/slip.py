"""What is changed of a Triton program's text, before evidence says how likely it is."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from grader.repair.candidates.candidate import Touches


@dataclass(frozen=True, eq=False)
class Slip:
    """An expression, or a statement, that may have been meant to be another."""

    node: ast.expr | ast.stmt
    words: str
    cost: float
    """How unlikely it is; the smaller, the earlier it is tried."""
    touches: Touches
    after: bool = False
    """Whether the words are a statement that is missing after this one."""
    way: str = ""
    """What the same change at another place has in common with it."""
