"""What a kind of fix is: the rules whose findings it puts right, and how it proposes edits."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from grader.records import Context, Finding, Fix
from grader.source import Source

Propose = Callable[["Finding", "Source", "Context"], Iterable["Fix"]]


@dataclass(frozen=True)
class FixMaker:
    """One kind of fix."""

    codes: tuple[str, ...]
    """Rules whose findings it is asked about."""
    propose: Propose
    """Yields the fixes of one finding; nothing where it has none."""
    order: int = 0
    """Among the makers of one rule, those with less come first."""
