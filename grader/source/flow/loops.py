"""Long loops: the first turns and the last one are enough."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from grader.source.flow.machine import Statements, forget
from grader.source.flow.memory import Region, everything
from grader.source.flow.state import Box, LoopFrame
from grader.source.flow.trace import StopWalkError
from grader.source.flow.tree import (
    Assign,
    Binary,
    Call,
    Expr,
    Loop,
    Name,
    Stmt,
    Subscript,
    Unary,
    Update,
    walk,
)
from grader.source.flow.values import Bits, Value, every, join, spread, unknown

FEW_TURNS = 3
PURE = (
    "__",
    "shfl",
    "f",
    "max",
    "min",
    "exp",
    "log",
    "sqrt",
    "rsqrt",
    "abs",
    "pow",
    "tanh",
    "std::",
)
"""Beginnings of the names of functions that change none of their arguments."""
GROWING_TURNS = 160
"""Turns that a loop may take while it still fills new cells of a shared array."""
WILD_TURNS = 70
"""Turns of a loop without a simple counter."""


@lru_cache(maxsize=4096)
def assigned_in(stmt: Stmt) -> frozenset[str]:
    """Return the names that a statement may change."""
    names: set[str] = set()
    for part in walk(stmt):
        if isinstance(part, (Assign, Update)):
            target: Expr = part.target
            while isinstance(target, Subscript):
                target = target.base
            if isinstance(target, Name):
                names.add(target.id)
        elif isinstance(part, Call) and not part.name.startswith(PURE):
            names.update(a.id for a in part.args if isinstance(a, Name))
        elif isinstance(part, Unary) and part.op == "&" and isinstance(part.operand, Name):
            names.add(part.operand.id)
    return frozenset(names)


def counter_of(loop: Loop) -> tuple[str, Expr | int] | None:
    """Return a loop's counter and what each turn adds to it, where it is that simple."""
    step = loop.step
    if isinstance(step, Update) and isinstance(step.target, Name):
        return step.target.id, 1 if step.op == "++" else -1
    if isinstance(step, Assign) and isinstance(step.target, Name) and step.op == "+=":
        return step.target.id, step.value
    if isinstance(step, Assign) and isinstance(step.target, Name) and step.op == "=":
        value = step.value
        if isinstance(value, Binary) and value.op == "+" and isinstance(value.left, Name):
            if value.left.id == step.target.id:
                return step.target.id, value.right
    return None


class Loops(Statements):
    """Skipping of turns."""

    def havoc(self, loop: Loop) -> None:
        """Forget the numbers of all that a loop's body and step assign."""
        for name in assigned_in(loop):
            box = self.find(name)
            if box is not None:
                box.value = forget(box.value)

    def skip_ahead(self, loop: Loop, frame: LoopFrame, grew: bool) -> None:  # noqa: C901
        """Jump to the loop's last turn where its turns are all alike."""
        plan = self._plan(loop) if frame.iteration >= FEW_TURNS or not grew else None
        if plan is None:
            if frame.iteration > WILD_TURNS + GROWING_TURNS:
                raise StopWalkError("a loop without an end in sight")
            return
        box, step, remaining = plan
        if grew and frame.iteration < GROWING_TURNS and int(remaining.max()) < GROWING_TURNS:
            return
        if int(remaining.max()) <= 1:
            return
        if grew:
            for region in self.walk.regions:
                if region.shadow is not None:
                    region.shadow.maybe_all()
        rest = self._skipped_parts()
        for name in assigned_in(loop.body):
            other = self.find(name)
            pointer = other.value.pointer if other is not None else None
            if pointer is not None:
                self._forget_array(pointer.region, rest)
            if pointer is not None and pointer.region.space == "local":
                continue
            if other is not None and other is not box:
                other.value = forget(other.value)
                if rest is not None and other.value.reduced:
                    other.value.parts = join(other.value.parts, rest)
        ahead = np.maximum(remaining - 1, 0) * step
        number = box.value.number + ahead
        uniform = not isinstance(box.value.number, np.ndarray) and bool((ahead == ahead[0]).all())
        box.value = Value(int(number[0]) if uniform else number, box.value.type)

    @staticmethod
    def _forget_array(region: Region, rest: Bits | None) -> None:
        if region.space != "local":
            return
        known = [v for v in (region.summary, *region.values.values()) if v is not None]
        region.summary = unknown(*known)
        region.summary.varies = True
        if rest is not None and region.summary.reduced:
            region.summary.parts = join(region.summary.parts, rest)
        region.values.clear()

    def _skipped_parts(self) -> Bits | None:
        """Return whose data the skipped turns may have read from shared memory."""
        out: Bits | None = None
        for region in self.walk.regions:
            if region.shadow is not None and region.crossed:
                out = join(out, everything(region.shadow.parts))
        return out

    def _plan(self, loop: Loop) -> tuple[Box, int, Any] | None:
        """Return the counter, its step and how many turns are left for each thread."""
        counter = counter_of(loop)
        test = loop.test
        if counter is None or not isinstance(test, Binary) or test.op not in {"<", "<="}:
            return None
        name, amount = counter
        if (
            not isinstance(test.left, Name)
            or test.left.id != name
            or name in assigned_in(loop.body)
        ):
            return None
        box = self.find(name)
        step = amount if isinstance(amount, int) else self.eval(amount).scalar
        bound = self.eval(test.right)
        if box is None or step is None or step <= 0 or not box.value.known or not bound.known:
            return None
        if isinstance(bound.number, int) and isinstance(box.value.number, int) and every(self.mask):
            last = bound.number + (1 if test.op == "<=" else 0)
            if last - box.value.number <= step:  # as it is with most: nothing is left to skip
                return None
        limit = np.asarray(bound.number) + (1 if test.op == "<=" else 0)
        remaining = -((box.value.number - limit) // step)
        return box, step, np.where(self.mask, spread(remaining, self.threads), 0)
