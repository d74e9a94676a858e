"""Walks all threads of one block through a function, statement by statement, in step.

Integers are followed exactly, data from memory is not: a branch on data is taken both ways and
nothing that happens in it is held against the kernel. This is neither a compiler nor the simulator;
it needs no toolchain, takes about a millisecond, and is silent about what it doesn't understand.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from grader.source.flow.state import LoopFrame, State
from grader.source.flow.trace import StopWalkError
from grader.source.flow.tree import (
    Block,
    Declare,
    Evaluate,
    Expr,
    If,
    Jump,
    Loop,
    Opaque,
    Return,
    Stmt,
)
from grader.source.flow.values import Mask, Value, blend, divergence, merge, some, truth, unknown

STEP_LIMIT = 2500


class Statements(State):
    """Control flow."""

    def eval(self, expr: Expr) -> Value:
        """Evaluate an expression; defined by `expressions.Machine`."""
        raise NotImplementedError

    def declare(self, stmt: Declare) -> None:
        """Declare a variable; defined by `expressions.Machine`."""
        raise NotImplementedError

    def skip_ahead(self, loop: Loop, frame: LoopFrame, grew: bool) -> None:
        """Jump to a loop's last turn; defined by `loops`."""
        raise NotImplementedError

    def havoc(self, loop: Loop) -> None:
        """Forget what a loop's body assigns; defined by `loops`."""
        raise NotImplementedError

    def run(self, stmt: Stmt) -> None:
        """Execute one statement in the active threads."""
        self.walk.steps += 1
        if self.walk.steps > STEP_LIMIT:
            raise StopWalkError("too long")
        getattr(self, _HOW[type(stmt)])(stmt)

    def _evaluate(self, stmt: Evaluate) -> None:
        self.eval(stmt.expr)

    def _opaque(self, stmt: Opaque) -> None:
        raise StopWalkError(stmt.reason)

    def run_block(self, stmt: Block) -> None:
        """Run statements in order in a scope of their own."""
        frame = self.frames[-1]
        frame.open()
        seen = None
        for part in stmt.body:
            if self.mask is not seen:
                seen = self.mask
                if not some(seen):
                    break
            self.run(part)
        frame.close()

    def run_if(self, stmt: If) -> None:
        """Run the branches, each with the threads that take it."""
        test = self.eval(stmt.test)
        held = truth(test)
        if isinstance(held, bool):
            branch = stmt.then if held else stmt.orelse
            if branch is not None:
                self.run(branch)
            return
        if held is None:
            self.run_both(stmt, divergence(test))
            return
        before = self.mask
        self.branch.append(stmt.test.node)
        after = []
        for mask, branch in ((before & held, stmt.then), (before & ~held, stmt.orelse)):
            self.mask = mask
            if branch is not None and some(mask):
                self.run(branch)
            after.append(self.mask)
        self.mask = after[0] | after[1]
        self.branch.pop()

    def run_both(self, stmt: If, level: int) -> None:
        """Run both branches of a condition on data, without certainty."""
        saved, node = self.doubt, self.doubt_node
        for branch in (stmt.then, stmt.orelse):
            if branch is not None:
                if level >= saved:
                    self.doubt_node = stmt.test.node
                self.doubt = max(saved, level)
                self.run(branch)
        self.merge_doubt(saved)
        self.doubt_node = node if self.doubt == saved else self.doubt_node

    def run_return(self, stmt: Return) -> None:
        """Take the active threads out of the function."""
        frame = self.frames[-1]
        if stmt.value is not None:
            value = self.eval(stmt.value)
            if frame.result is None:
                frame.result = value
            elif self.doubt:
                frame.result = merge(frame.result, value, self.doubt > 1)
            else:
                frame.result = blend(frame.result, value, self.mask)
        if self.doubt:
            frame.doubt = max(frame.doubt, self.doubt)
            return
        if len(self.frames) == 1:
            self.alive = self.alive & ~self.mask
            self.return_node = self.branch[-1] if self.branch else stmt.node
        self.mask = self.nobody

    def run_jump(self, stmt: Jump) -> None:
        """Take the active threads out of the loop, or of this turn of it."""
        if not self.loops:
            return
        loop = self.loops[-1]
        if self.doubt:
            loop.doubt = max(loop.doubt, self.doubt)
            return
        if stmt.kind == "break":
            loop.broken = loop.broken | self.mask
        else:
            loop.continued = loop.continued | self.mask
        self.mask = self.nobody

    def run_loop(self, stmt: Loop) -> None:
        """Run a loop; long ones only at their beginning and their end."""
        scope = self.frames[-1]
        scope.open()
        if stmt.init is not None:
            for part in stmt.init.body if isinstance(stmt.init, Block) else (stmt.init,):
                self.run(part)
        saved = self.doubt
        frame = LoopFrame(stmt.node, self.nobody, self.nobody)
        self.loops.append(frame)
        branches = len(self.branch)
        left = self._turns(stmt, frame)
        del self.branch[branches:]
        self.loops.pop()
        self.mask = left | frame.broken
        self.merge_doubt(saved)
        scope.close()

    def _turns(self, stmt: Loop, frame: LoopFrame) -> Mask:
        """Run the turns of a loop; return the threads that left it by its test."""
        left = self.nobody
        while True:
            if stmt.test is not None and (stmt.kind != "do" or frame.iteration > 0):
                test = self.eval(stmt.test)
                held = truth(test)
                if held is None:
                    return left | self._unknown_turns(stmt, divergence(test))
                if isinstance(held, np.ndarray):
                    left = left | (self.mask & ~held)
                    if (
                        len(left)
                        and some(left)
                        and (not self.branch or self.branch[-1] != stmt.test.node)
                    ):
                        self.branch.append(stmt.test.node)
                    self.mask = self.mask & held
                elif not held:
                    return left | self.mask
                if not some(self.mask):
                    return left
            before = self.initialised
            self.run(stmt.body)
            if frame.continued is not self.nobody:
                self.mask = self.mask | frame.continued
                frame.continued = self.nobody
            if not some(self.mask):
                return left
            if stmt.step is not None:
                self.eval(stmt.step)
            frame.iteration += 1
            if frame.iteration >= 2:
                self.skip_ahead(stmt, frame, self.initialised > before)

    def _unknown_turns(self, stmt: Loop, level: int) -> Mask:
        """Run a loop of unknown length once, without certainty."""
        saved, node = self.doubt, self.doubt_node
        self.doubt = max(saved, level)
        self.doubt_node = stmt.test.node if stmt.test is not None else stmt.node
        entry = self.mask
        self.run(stmt.body)
        if stmt.step is not None:
            self.eval(stmt.step)
        self.havoc(stmt)
        self.doubt, self.doubt_node = saved, node
        return entry


def forget(value: Value) -> Value:
    """Return a value of which only the dependences are kept."""
    out = unknown(value)
    out.thing = value.thing
    out.pointer = value.pointer
    if out.pointer is not None and out.pointer.region.space == "global":
        out.pointer = memory_pointer_forgotten(out.pointer)
    return out


def memory_pointer_forgotten(pointer: Any) -> Any:
    """Return the pointer with an unknown offset into the same region."""
    return type(pointer)(pointer.region, None, True, pointer.scale, pointer.depth, pointer.type)


_HOW: Mapping[type[Stmt], str] = {
    Evaluate: "_evaluate",
    Declare: "declare",
    Block: "run_block",
    If: "run_if",
    Loop: "run_loop",
    Return: "run_return",
    Jump: "run_jump",
    Opaque: "_opaque",
}
"""The method for each kind of statement, by name: the host's machine has its own for some."""
