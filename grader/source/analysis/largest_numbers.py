"""How large the whole numbers of a kernel get in one launch, at the most: sizes that it is given, and what is counted up to them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from grader.source import cpp
from grader.source.analysis.walks import Case
from grader.source.constants import fold

DEEP = 12
"""Variables that are followed to what they were made of, one in another."""


@dataclass(frozen=True, eq=False)
class Largest:
    """The numbers of one launch's kernel; None counts as not known, and nothing as negative."""

    case: Case

    @cached_property
    def _given(self) -> Mapping[str, int]:
        """The whole numbers that the kernel is given, and the launch's own."""
        names = [one.name for one in self.case.function.parameters]
        values = zip(names, self.case.launch.arguments, strict=False)
        found = {name: value for name, value in values if isinstance(value, int)}
        for axis, blocks, threads in zip("xyz", self.case.launch.grid, self.case.launch.block, strict=True):  # fmt: skip
            if blocks is not None and threads is not None:
                found |= {f"gridDim.{axis}": blocks, f"blockDim.{axis}": threads}
                found |= {f"blockIdx.{axis}": blocks - 1, f"threadIdx.{axis}": threads - 1}
        return found

    @cached_property
    def _made(self) -> Mapping[str, list[cpp.Expr]]:
        """What each variable is set to; of a loop's counter what it stays below."""
        found: dict[str, list[cpp.Expr]] = {}
        for part in cpp.walk(self.case.function.code):
            match part:
                case cpp.Declare(name=name, init=cpp.Expr() as value):
                    found.setdefault(name, []).append(value)
                case cpp.Assign(op="=", target=cpp.Name(id=name), value=value):
                    found.setdefault(name, []).append(value)
        loops = (one for one in cpp.walk(self.case.function.code) if isinstance(one, cpp.Loop))
        for loop in loops:
            match loop.test:
                case cpp.Binary(op="<" | "<=", left=cpp.Name(id=name), right=bound):
                    found[name] = [bound]
        return found

    def most(self, expr: cpp.Expr, deep: int = DEEP) -> int | None:
        """Return the largest value of an expression."""
        if (known := fold(self.case.unit, expr.node)) is not None or not deep:
            return known
        match expr:
            case cpp.Name(id=name):
                every = [self.most(one, deep - 1) for one in self._made.get(name, ())]
                own = max((n for n in every if n is not None), default=None)
                return self._given.get(name, own)
            case cpp.Member(base=cpp.Name(id=base), name=axis):
                return self._given.get(f"{base}.{axis}")
            case cpp.Cast(operand=inner):
                return self.most(inner, deep)
            case cpp.Select(yes=left, no=right):
                return max(self._both(left, right, deep), default=None)
            case cpp.Binary(op=op, left=left, right=right):
                both = tuple(self._both(left, right, deep))
                return _join(op, *both) if len(both) == 2 else None
        return None

    def _both(self, left: cpp.Expr, right: cpp.Expr, deep: int) -> Iterator[int]:
        found = (self.most(one, deep) for one in (left, right))
        return (one for one in found if one is not None)


def _join(op: str, left: int, right: int) -> int | None:
    match op:
        case "+":
            return left + right
        case "-":
            return left
        case "*":
            return left * right
        case "/" if right:
            return left // right
        case "%":
            return min(left, max(right - 1, 0))
    return None
