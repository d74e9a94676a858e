"""What a reviewer would change where a compiler stops: the kinds of fixes, each asked about every message of BLD015."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from grader.records import Context, Evidence, Finding, Fix
from grader.repair.fixes.compiler.definitions import defined
from grader.repair.fixes.compiler.device_code import (
    atomic_extremum,
    device_function,
    device_maths,
)
from grader.repair.fixes.compiler.diagnostic import Diagnostic
from grader.repair.fixes.compiler.nodes import changed_nodes, left_out
from grader.repair.fixes.compiler.punctuation import balanced, braced, ended
from grader.repair.fixes.compiler.rewrites import rewritten
from grader.repair.fixes.compiler.spelling import respelled
from grader.repair.fixes.compiler.types import (
    plain_pointers,
    reinterpreted,
    returned_type,
    without_standard,
)
from grader.repair.fixes.maker import FixMaker
from grader.source import Source

KINDS: tuple[Callable[[Diagnostic], Iterable[Fix]], ...] = (
    ended, balanced, respelled, defined, rewritten, device_function, device_maths, atomic_extremum,
    left_out, plain_pointers, changed_nodes, reinterpreted, returned_type, without_standard, braced,
)  # fmt: skip
"""In the order in which they are proposed."""


def compiler_fixes(source: Source, item: Evidence) -> Iterator[Fix]:
    """Yield the fixes of the slip that one message of a compiler, a linker or Python shows."""
    found = Diagnostic(source, item)
    for kind in KINDS:
        yield from kind(found)


def propose(finding: Finding, source: Source, _context: Context) -> Iterator[Fix]:
    """Yield the fixes of the first message, which the others follow from."""
    for item in finding.evidence[:1]:
        yield from compiler_fixes(source, item)


FIX = FixMaker(codes=("BLD015",), propose=propose)
