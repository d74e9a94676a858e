"""The steps of a function in the order of its text, each with the conditions and loops around it."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from grader.source import cpp

CHANGES = frozenset({"erase", "insert", "push_back", "emplace_back", "pop_back", "resize", "clear"})
"""Methods that change a list, which becomes unknown."""
Guard = tuple[cpp.Expr, bool]
"""A condition, and whether it must hold."""


@dataclass(frozen=True, eq=False)
class Step:
    """A declaration, an assignment, a call, a launch, or a statement that leaves the function."""

    part: cpp.Part
    guards: tuple[Guard, ...]
    loops: tuple[cpp.Loop, ...]
    lambdas: int
    """Number of lambdas around it."""
    ends_turn: bool
    """Whether it is the increment of a `for`."""

    @property
    def at(self) -> int:
        """Its position."""
        return int(self.part.node.start_byte) if self.part.node is not None else 0

    @property
    def name(self) -> str:
        """The variable that it assigns; empty where none."""
        match self.part:
            case cpp.Declare(name=name):
                return name
            case cpp.Assign(target=cpp.Name(id=name)) | cpp.Update(target=cpp.Name(id=name)):
                return name
            case cpp.Assign(target=cpp.Subscript(base=cpp.Name(id=name))):
                return name
            case cpp.Call(base=cpp.Name(id=name), name=method) if method in CHANGES:
                return name
        return ""


@lru_cache(maxsize=64)
def steps(body: cpp.Stmt) -> tuple[Step, ...]:
    """Return the steps of a function's body, those in its lambdas included."""
    return tuple(_steps(body, (), (), 0))


def _steps(
    part: cpp.Part | None,
    guards: tuple[Guard, ...],
    loops: tuple[cpp.Loop, ...],
    lambdas: int,
    *,
    ends_turn: bool = False,
) -> Iterator[Step]:
    match part:
        case None:
            return
        case cpp.If(test=test, then=then, orelse=orelse):
            yield from _steps(test, guards, loops, lambdas)
            yield from _steps(then, (*guards, (test, True)), loops, lambdas)
            yield from _steps(orelse, (*guards, (test, False)), loops, lambdas)
        case cpp.Loop():
            yield from _steps(part.init, guards, loops, lambdas)
            yield from _steps(part.step, guards, (*loops, part), lambdas, ends_turn=True)
            yield from _steps(part.body, guards, (*loops, part), lambdas)
        case cpp.Lambda(body=body):
            yield from _steps(body, guards, loops, lambdas + 1)
        case _:
            for inner in cpp.children(part):
                yield from _steps(inner, guards, loops, lambdas, ends_turn=ends_turn)
            kinds = cpp.Declare | cpp.Assign | cpp.Update | cpp.Call | cpp.Launch | cpp.Return | cpp.Opaque  # fmt: skip
            if isinstance(part, kinds):
                yield Step(part, guards, loops, lambdas, ends_turn)
