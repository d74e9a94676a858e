"""Passes by what touches no global memory: in a walk that asks for addresses alone, nothing else counts.

Such are the loops of a reduction in shared memory and the exchanges of a warp. They leave only data
behind, which is not known anyway.
"""

from __future__ import annotations

from functools import lru_cache

from grader.source.flow.loops import Loops, assigned_in
from grader.source.flow.program import Program
from grader.source.flow.scalar_types import type_letter
from grader.source.flow.state import Box
from grader.source.flow.trace import Care
from grader.source.flow.tree import (
    Assign,
    Call,
    Declare,
    Evaluate,
    Expr,
    If,
    Jump,
    Lambda,
    LaunchCall,
    Loop,
    Name,
    Opaque,
    Return,
    Stmt,
    Unary,
    Update,
    walk,
)
from grader.source.flow.values import Value, unknown

DATA = frozenset("fd")
"""Letters of the types that are not followed."""
READERS = frozenset({"__ldg", "fmaf", "fmaxf", "fminf", "max", "min", "expf", "__expf", "sqrtf"})
"""Functions that store nothing."""
DEPTH = 6
"""Functions in functions."""


@lru_cache(maxsize=1024)
def names_in(program: Program, stmt: Stmt) -> frozenset[str] | None:
    """Return the names that a statement uses; None where it may do more than compute with them."""
    names: set[str] = set()
    inside = isinstance(stmt, Loop)
    return frozenset(names) if _collect(program, stmt, names, inside, 0) else None


def _collect(
    program: Program, item: Expr | Stmt, names: set[str], inside: bool, depth: int
) -> bool:
    """Add the names that are used; say whether all of it is understood."""
    if depth > DEPTH:
        return False
    outside = {c.name for c in program.constants if c.dims or c.pointer}
    for part in walk(item):
        if isinstance(part, Opaque | Lambda | LaunchCall):
            return False
        if isinstance(part, Return) and not depth:
            return False
        if isinstance(part, Jump) and not inside and not depth:
            return False
        name = part.name if isinstance(part, Call) else part.id if isinstance(part, Name) else ""
        if not name:
            continue
        if name in outside or not _behind(program, part, name, names, depth):
            return False
        names.add(name)
    return True


def _behind(program: Program, part: Expr | Stmt, name: str, names: set[str], depth: int) -> bool:
    """Look into the function or macro of that name."""
    macro = program.macros.get(name)
    if macro is not None:
        return macro.expr is not None and _collect(program, macro.expr, names, True, depth + 1)
    if isinstance(part, Call):
        if part.base is not None:
            return False
        function = program.named(name)
        if function is not None:
            return _collect(program, function.body, set(), True, depth + 1)
    return True


class AddressOnly(Loops):
    """Leaving out what no address depends on."""

    def type_name(self, text: str) -> str:
        """Return a type's text with aliases replaced; defined by `variables`."""
        raise NotImplementedError

    def pass_by(self, stmt: Stmt) -> bool:
        """Leave a statement out where nothing that counts depends on it; say whether it was."""
        letter = type_letter(self.type_name(stmt.type)) if isinstance(stmt, Declare) else "f"
        if letter not in DATA or not _worth_it(stmt):
            return False
        names = names_in(self.program, stmt)
        if names is None:
            return False
        boxes = {name: box for name in names if (box := self.find(name)) is not None}
        reads = self.walk.care is Care.STORES and only_reads(stmt)
        if any(_leads_out(box, reads) for box in boxes.values()):
            return False
        changed = [boxes[name] for name in assigned_in(stmt) if name in boxes]
        if not all(_holds_data(box) for box in changed):
            return False
        for box in changed:
            self._spoil(box)
        if isinstance(stmt, Declare):
            self.define(stmt.name, Value(None, letter, loaded=True), letter)
        return True

    def _spoil(self, box: Box) -> None:
        pointer = box.value.pointer
        if pointer is not None:
            self._forget_array(pointer.region, None)
            return
        box.value = unknown(box.value)
        box.value.varies = box.value.loaded = True


def _worth_it(stmt: Stmt) -> bool:
    """Whether a statement is more than a little arithmetic."""
    if isinstance(stmt, Loop | If):
        return True
    if isinstance(stmt, Declare):
        plain = not (stmt.shared or stmt.dims or stmt.pointer or stmt.reference)
        return plain and isinstance(stmt.init, Call)
    if not isinstance(stmt, Evaluate):
        return False
    value = stmt.expr.value if isinstance(stmt.expr, Assign) else stmt.expr
    return isinstance(value, Call)


def only_reads(stmt: Stmt) -> bool:
    """Whether a statement surely stores to variables alone, and to no memory."""
    for part in walk(stmt):
        if isinstance(part, Assign | Update) and not isinstance(part.target, Name):
            return False
        if isinstance(part, Call) and part.name not in READERS:
            return False
        if isinstance(part, Unary) and part.op == "&":
            return False
    return True


def _leads_out(box: Box, reads: bool) -> bool:
    """Whether a variable leads to global memory (unless that is only read), or isn't followed."""
    pointer = box.value.pointer
    elsewhere = pointer is not None and pointer.region.space == "global" and not reads
    return box.value.thing is not None or elsewhere


def _holds_data(box: Box) -> bool:
    pointer = box.value.pointer
    if pointer is None:
        return box.type in DATA
    region = pointer.region
    return region.space == "shared" or (
        region.space == "local" and type_letter(region.type) in DATA
    )
