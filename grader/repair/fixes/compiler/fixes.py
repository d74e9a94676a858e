"""Fixes of compiler errors: all kinds, each tried on every message of BLD015."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from grader.records import Context, Evidence, Finding, Fix
from grader.repair.fixes.compiler.definitions import define_name
from grader.repair.fixes.compiler.device_code import (
    atomic_extremum,
    device_function,
    device_maths,
)
from grader.repair.fixes.compiler.diagnostic import Diagnostic
from grader.repair.fixes.compiler.nodes import changed_nodes, left_out, without_c_linkage
from grader.repair.fixes.compiler.punctuation import balance_parentheses, close_brace, end_statement
from grader.repair.fixes.compiler.rewrites import rewrite_refused
from grader.repair.fixes.compiler.spelling import respell_name
from grader.repair.fixes.compiler.types import (
    plain_pointers,
    reinterpret_pointer,
    returned_type,
    without_standard,
)
from grader.repair.fixes.maker import FixMaker
from grader.source import Source

KINDS: tuple[Callable[[Diagnostic], Iterable[Fix]], ...] = (
    end_statement, balance_parentheses, respell_name, define_name, rewrite_refused, device_function, device_maths, atomic_extremum,
    left_out, without_c_linkage, plain_pointers, changed_nodes, reinterpret_pointer, returned_type, without_standard, close_brace,
)  # fmt: skip
"""In the order in which they are proposed."""


def compiler_fixes(source: Source, item: Evidence) -> Iterator[Fix]:
    """Yield the fixes of one message of a compiler, a linker or Python."""
    found = Diagnostic(source, item)
    for kind in KINDS:
        yield from kind(found)


def propose(finding: Finding, source: Source, _context: Context) -> Iterator[Fix]:
    """Yield the fixes of the first message, which causes the others."""
    for item in finding.evidence[:1]:
        yield from compiler_fixes(source, item)


FIX = FixMaker(codes=("BLD015",), propose=propose)
