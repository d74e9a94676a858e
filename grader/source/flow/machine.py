"""Follows one thread through a function, statement by statement.

Whole numbers are followed exactly, data from memory is not: a branch on data is taken both ways and
nothing that happens in it is held against the kernel. This is neither a compiler nor the simulator;
it needs no toolchain, takes about a millisecond, and is silent about what it doesn't understand.
"""

from collections.abc import Callable
from typing import Any

from grader.source import cpp
from grader.source.flow.state import State
from grader.source.flow.trace import StopWalkError
from grader.source.flow.values import merge, truth

STEP_LIMIT = 2500
LEAVING = "return"


class Statements(State):
    """Control flow. Each kind of statement has a method by its name; it says how it was left, by `return`, `break`, `continue`, or plainly."""

    def run(self, stmt: cpp.Stmt) -> str:
        """Execute one statement."""
        self.walk.steps += 1
        if self.walk.steps > STEP_LIMIT:
            raise StopWalkError("too long")
        how: Callable[[Any], str] = getattr(self, f"_run_{type(stmt).__name__.lower()}")
        return how(stmt)

    def _run_evaluate(self, stmt: cpp.Evaluate) -> str:
        self.eval(stmt.expr)
        return ""

    def _run_opaque(self, stmt: cpp.Opaque) -> str:
        raise StopWalkError(stmt.reason)

    def _run_block(self, stmt: cpp.Block) -> str:
        """Run statements in order in a scope of their own."""
        frame = self.frames[-1]
        frame.open()
        how = ""
        for part in stmt.body:
            how = self.run(part)
            if how:
                break
        frame.close()
        return how

    def _run_if(self, stmt: cpp.If) -> str:
        """Run the branch that the condition chooses; both where it isn't known."""
        held = truth(self.eval(stmt.test))
        if held is None:
            return self._run_both(stmt)
        branch = stmt.then if held else stmt.orelse
        return self.run(branch) if branch is not None else ""

    def _run_both(self, stmt: cpp.If) -> str:
        saved = self.doubt
        for branch in (stmt.then, stmt.orelse):
            if branch is not None:
                self.doubt = True
                self.run(branch)
        self.settle_doubt(saved)
        return ""

    def _run_return(self, stmt: cpp.Return) -> str:
        """Leave the function; under a condition on data the thread may have left, and goes on in doubt."""
        frame = self.frames[-1]
        if stmt.value is not None:
            value = self.eval(stmt.value)
            frame.result = value if frame.result is None else merge(frame.result, value)
        if self.doubt:
            frame.doubt = True
            return ""
        return LEAVING

    def _run_jump(self, stmt: cpp.Jump) -> str:
        """Leave the loop, or this turn of it."""
        if self.doubt and self.loops:
            self.loops[-1].doubt = True
            return ""
        return stmt.kind if self.loops else ""
