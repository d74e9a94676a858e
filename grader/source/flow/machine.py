"""Follows host code statement by statement.

Whole numbers are followed exactly, data is not: a branch on what isn't known is taken both ways and what happens in it
may not have happened. It needs no toolchain, takes about a millisecond, and is silent about what it doesn't understand.
"""

from collections.abc import Callable
from typing import Any

from grader.source import cpp
from grader.source.cpp_reading import assigned_in
from grader.source.flow.launch import StopWalkError
from grader.source.flow.state import State
from grader.source.flow.values import forgotten, merge, truth

STEP_LIMIT = 2500
MOST_TURNS = 100
"""Turns of a loop that are followed."""
LEAVING = "return"


class Statements(State):
    """Control flow. Each kind of statement has a method by its name; it says how it was left, by `return`, `break`, `continue`, or plainly."""

    def run(self, stmt: cpp.Stmt) -> str:
        """Execute one statement."""
        self.steps += 1
        if self.steps > STEP_LIMIT:
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
        """Leave the function; under a condition on data it may have been left, and goes on in doubt."""
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
            self.loops[-1] = True
            return ""
        return stmt.kind if self.loops else ""

    def _run_loop(self, stmt: cpp.Loop) -> str:
        """Run a loop, the first turns of a long one."""
        scope, saved = self.frames[-1], self.doubt
        scope.open()
        if stmt.init is not None:
            for part in stmt.init.body if isinstance(stmt.init, cpp.Block) else (stmt.init,):
                self.run(part)
        self.loops.append(False)
        how = self._turns(stmt)
        self.loops.pop()
        self.settle_doubt(saved)
        scope.close()
        return how if how == LEAVING else ""

    def _turns(self, stmt: cpp.Loop) -> str:
        """Run the turns of a loop; return how it was left."""
        for turn in range(MOST_TURNS):
            if stmt.test is not None and (stmt.kind != "do" or turn > 0):
                held = truth(self.eval(stmt.test))
                if held is None:
                    self.doubt = True
                elif not held:
                    return ""
            how = self.run(stmt.body)
            if how in {LEAVING, "break"}:
                return how
            if stmt.step is not None:
                self.eval(stmt.step)
            if self.doubt:
                break
        self._forget(stmt)
        return ""

    def _forget(self, stmt: cpp.Stmt) -> None:
        """Forget the numbers of all that a loop assigns whose turns weren't all run."""
        for name in assigned_in(stmt):
            box = self.find(name)
            if box is not None and box.value.pointer is not None:
                box.value.pointer.region.values.clear()
            if box is not None:
                box.value = forgotten(box.value)
