"""Long loops: the first turns and the last one are enough."""

from grader.source import cpp
from grader.source.cpp_reading import assigned_in
from grader.source.flow.machine import LEAVING, Statements
from grader.source.flow.state import Box, LoopFrame
from grader.source.flow.trace import StopWalkError
from grader.source.flow.values import Value, forgotten, truth

WILD_TURNS = 230
"""Turns of a loop without a simple counter."""


def counter_of(loop: cpp.Loop) -> tuple[str, cpp.Expr | int] | None:
    """Return a loop's counter and what each turn adds to it, where it is that simple."""
    step = loop.step
    if isinstance(step, cpp.Update) and isinstance(step.target, cpp.Name):
        return step.target.id, 1 if step.op == "++" else -1
    if isinstance(step, cpp.Assign) and isinstance(step.target, cpp.Name) and step.op == "+=":
        return step.target.id, step.value
    if isinstance(step, cpp.Assign) and isinstance(step.target, cpp.Name) and step.op == "=":
        value = step.value
        if isinstance(value, cpp.Binary) and value.op == "+" and isinstance(value.left, cpp.Name):
            if value.left.id == step.target.id:
                return step.target.id, value.right
    return None


class Loops(Statements):
    """Loops: the first two turns and the last one are run, where all are alike."""

    def havoc(self, stmt: cpp.Stmt) -> None:
        """Forget the numbers of all that a statement assigns."""
        moved = assigned_in(stmt, cells=False)
        for name in assigned_in(stmt):
            box = self.find(name)
            if box is not None and box.value.pointer is not None:
                box.value.pointer.region.values.clear()
            if box is not None and (name in moved or box.value.pointer is None):
                box.value = forgotten(box.value)

    def skip_ahead(self, loop: cpp.Loop, frame: LoopFrame) -> None:
        """Jump to the loop's last turn where its turns are all alike."""
        plan = self._plan(loop)
        if plan is not None:
            box, last = plan
            self.havoc(loop.body)
            box.value = Value(last, box.value.type)
        elif frame.turn > WILD_TURNS:
            raise StopWalkError("a loop without an end in sight")

    def _plan(self, loop: cpp.Loop) -> tuple[Box, int] | None:
        """Return the counter, and what it is in the last turn; None where no turn can be skipped."""
        counter, test = counter_of(loop), loop.test
        if counter is None or not isinstance(test, cpp.Binary) or test.op not in {"<", "<="}:
            return None
        (name, amount), left = counter, test.left
        if not isinstance(left, cpp.Name) or left.id != name or name in assigned_in(loop.body):
            return None
        box = self.find(name)
        step = amount if isinstance(amount, int) else self.eval(amount).scalar
        bound, now = self.eval(test.right).scalar, box.value.scalar if box is not None else None
        if box is None or step is None or step <= 0 or now is None or bound is None:
            return None
        turns = -((now - bound - (test.op == "<=")) // step)
        return (box, now + (turns - 1) * step) if turns > 1 else None

    def _run_loop(self, stmt: cpp.Loop) -> str:
        """Run a loop; long ones only at their beginning and their end."""
        scope, saved = self.frames[-1], self.doubt
        scope.open()
        if stmt.init is not None:
            for part in stmt.init.body if isinstance(stmt.init, cpp.Block) else (stmt.init,):
                self.run(part)
        frame = LoopFrame(stmt.node)
        self.loops.append(frame)
        how = self._turns(stmt, frame)
        self.loops.pop()
        self.settle_doubt(saved)
        scope.close()
        return how if how == LEAVING else ""

    def _turns(self, stmt: cpp.Loop, frame: LoopFrame) -> str:
        """Run the turns of a loop; return how it was left."""
        while True:
            if stmt.test is not None and (stmt.kind != "do" or frame.turn > 0):
                held = truth(self.eval(stmt.test))
                if held is None:
                    return self._unknown_turns(stmt)
                if not held:
                    return ""
            how = self.run(stmt.body)
            if how in {LEAVING, "break"}:
                return how
            if stmt.step is not None:
                self.eval(stmt.step)
            frame.turn += 1
            if frame.turn >= 2:
                self.skip_ahead(stmt, frame)

    def _unknown_turns(self, stmt: cpp.Loop) -> str:
        """Run a loop of unknown length once, without certainty."""
        saved, self.doubt = self.doubt, True
        self.run(stmt.body)
        if stmt.step is not None:
            self.eval(stmt.step)
        self.havoc(stmt)
        self.doubt = saved
        return ""
