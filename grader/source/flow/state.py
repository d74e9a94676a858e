"""Host code while it is followed: what variables hold."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from grader.source.cpp import Expr
from grader.source.flow.values import Value, converted, merge
from grader.source.functions import Function
from grader.source.units import Unit


class Box:
    """A variable: references share it."""

    __slots__ = ("type", "value")

    def __init__(self, value: Value, type_: str = "?") -> None:
        self.value = value
        self.type = type_


@dataclass(slots=True)
class Frame:
    """One call of a function."""

    function: Function | None
    names: dict[str, Box]
    """The variables in sight."""
    types: dict[str, str] = field(default_factory=dict)
    result: Value | None = None
    doubt: bool = False
    """Set by a `return` that may or may not have happened."""
    hidden: list[list[tuple[str, Box | None]]] = field(default_factory=list)
    """For each open scope what its names stood for outside."""

    def open(self) -> None:
        """Begin a scope."""
        self.hidden.append([])

    def close(self) -> None:
        """End the innermost scope: its names stand again for what they did outside."""
        for name, outside in reversed(self.hidden.pop()):
            if outside is None:
                del self.names[name]
            else:
                self.names[name] = outside

    def bind(self, name: str, box: Box) -> None:
        """Declare a name in the innermost scope."""
        if self.hidden:
            self.hidden[-1].append((name, self.names.get(name)))
        self.names[name] = box


class State:
    """What variables hold, and how sure that is."""

    def __init__(self, unit: Unit) -> None:
        self.unit = unit
        self.frames: list[Frame] = []
        self.loops: list[bool] = []
        """Of each loop that is run: whether a `break` or `continue` in it may or may not have happened."""
        self.depth = 0
        """Calls and macros in one another."""
        self.steps = 0
        self.doubt = False
        """Whether this is under a condition on data, which may or may not hold."""

    def eval(self, expr: Expr) -> Value:
        """Evaluate an expression: each kind has its method by its name, in one of the files beside this one."""
        how: Callable[[Any], Value] = getattr(self, f"_eval_{type(expr).__name__.lower()}")
        return how(expr)

    def eval_all(self, exprs: tuple[Expr, ...]) -> list[Value]:
        """Evaluate expressions in order."""
        return [self.eval(one) for one in exprs]

    def find(self, name: str) -> Box | None:
        """Return the variable of that name in the current function."""
        return self.frames[-1].names.get(name)

    def define(self, name: str, value: Value, type_: str = "?") -> None:
        """Declare a variable in the innermost scope."""
        self.frames[-1].bind(name, Box(value, type_))

    def store(self, box: Box, value: Value) -> None:
        """Assign to a variable."""
        value = converted(value, box.type)
        box.value = merge(box.value, value) if self.doubt else value

    def settle_doubt(self, saved: bool) -> None:
        """Leave a construct: certain again, unless a jump in it may have happened."""
        jumped = bool(self.frames) and self.frames[-1].doubt
        self.doubt = saved or jumped or any(self.loops)
