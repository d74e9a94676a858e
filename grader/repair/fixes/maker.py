"""The record of a kind of fix: the rules of its findings, and its proposals of edits."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from grader.records import Context, Evidence, Finding, Fix
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


MOST = 4
"""Proofs of one finding that fixes are looked for: the same line is often seen on many workloads."""


def of_proofs(make: Callable[[Source, Evidence], Iterable[Fix]]) -> Propose:
    """Return a proposer that makes fixes for each proof of a run."""

    def propose(finding: Finding, source: Source, _context: Context) -> Iterable[Fix]:
        return [fix for item in finding.evidence[:MOST] for fix in make(source, item)]

    propose.__module__ = make.__module__  # by which it is named where it fails
    return propose
