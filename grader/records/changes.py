"""What a small change of a program changes, and what it puts there: of a kernel's compiled code, of what a launch is given, of host code."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal, TypeVar

from pydantic import Field

GRID = 1 << 20
"""From here on a parameter's number is an axis of the grid."""


@dataclass(frozen=True, order=True)
class KernelValue:
    """A value in the code of a kernel."""

    origin: Literal["argument", "index", "line"]
    """Whether it is an argument, an index of the launch, or made in a line."""
    number: int = 0
    """Which argument or line."""
    register: str = ""
    """The register of an index: `%tid.x`."""
    nth: int = 1
    """Which of several values of this line or argument, in the order of the code."""
    named: bool = True
    """Whether the source has a name for it: others are a part of what their line computes."""


@dataclass(frozen=True)
class Operation:
    """An operator or function of a kernel, and what it takes beside the value that it is done with."""

    name: str
    """As in PTX (`add`, `setp`'s `lt`), or `square`, `exp`, `log`; `if` and `unless`: the value where a condition holds or does not, else a number."""
    type: str = ""
    """The type of what it computes with: `f32`, or `int` for whole numbers of any width."""
    number: str = ""
    values: tuple[KernelValue, ...] = ()

    @property
    def is_whole(self) -> bool:
        """Whether it computes with whole numbers."""
        return self.type[:1] in {"s", "u", "i"}


Part = Literal[
    "the first operand alone", "the second operand alone", "them without the sum", "them without a factor", "them without the other factor",
    "them without the product", "them exchanged", "the product subtracted", "the sum subtracted",
]  # fmt: skip
"""What an operator with the same operands could be instead."""
LEFT_OUT = frozenset[Part](("the first operand alone", "the second operand alone", "them without the sum", "them without a factor", "them without the other factor", "them without the product"))  # fmt: skip
"""Those under which something that the author wrote is no longer done."""


Settled = Literal["always", "never", "always the first", "always the second"]
"""How a condition is settled that no longer decides."""


@dataclass(frozen=True)
class OtherComparison:
    """Another sign of a comparison."""

    before: Operation
    after: Operation
    kind: Literal["comparison"] = "comparison"


@dataclass(frozen=True)
class OtherConstant:
    """Another number."""

    before: str
    after: str
    kind: Literal["constant"] = "constant"


@dataclass(frozen=True)
class OtherOperator:
    """Another operator, or the same with other operands."""

    before: Operation
    after: Operation | Part
    kind: Literal["operator"] = "operator"


@dataclass(frozen=True)
class AddedToOld:
    """What a loop sets anew, joined by an operator to what it was."""

    before: KernelValue
    """What it was before the first turn."""
    after: Operation
    kind: Literal["carried"] = "carried"


@dataclass(frozen=True)
class OtherOperand:
    """Another value in the place of one."""

    before: KernelValue
    after: KernelValue
    both: bool = False
    """Whether the other one takes its place as well."""
    kind: Literal["operand"] = "operand"


@dataclass(frozen=True)
class OtherDivisor:
    """What an index is divided by: the quotient of two sizes."""

    before: Operation
    after: Operation
    kind: Literal["divisor"] = "divisor"


@dataclass(frozen=True)
class FixedGuard:
    """A condition that always or never holds."""

    before: str
    """The instruction under the condition; `selp` chooses between two values."""
    after: Settled
    kind: Literal["guard"] = "guard"


@dataclass(frozen=True)
class SecondCondition:
    """A second condition beside one: a value compared with another one."""

    before: KernelValue
    after: Operation
    kind: Literal["condition"] = "condition"


@dataclass(frozen=True)
class OneMoreStep:
    """A value with one operation more."""

    before: KernelValue
    after: Operation
    both: bool = False
    """Whether the same is done with another value of the line as well."""
    kind: Literal["around"] = "around"

    @property
    def takes_another_line(self) -> bool:
        """Whether the operation takes what another line makes."""
        return any(one.origin == "line" for one in self.after.values)


@dataclass(frozen=True)
class EarlierStep:
    """A step that is done before another one that it took the result of: with one of its operands, or with both."""

    before: Operation
    """The step."""
    after: Operation
    """The one that it should be done before."""
    operands: tuple[int, ...] = ()
    """Of each step on the way back, which operand leads on."""
    both: bool = False
    kind: Literal["order"] = "order"


@dataclass(frozen=True)
class PassedArgument:
    """What a launch gives another parameter."""

    number: int
    launch: int | None = None
    """Which earlier launch; None for the same one."""
    text: str = ""
    """The expression in the host code, where it is known."""
    kind: Literal["argument"] = "argument"


@dataclass(frozen=True)
class PassedTensor:
    """An input or a weight."""

    name: str
    exchanged_dims: tuple[int, int] | None = None
    """Which two dims should be in the other order."""
    kind: Literal["tensor"] = "tensor"


@dataclass(frozen=True)
class PassedSize:
    """A size of an input or weight, or the product of the sizes of dims that follow each other."""

    tensor: str
    first: int
    last: int
    kind: Literal["size"] = "size"


@dataclass(frozen=True)
class PassedNumber:
    """What follows from a number: from the one that is passed, from one of the task, or from a size."""

    formula: str
    """In terms of `x`."""
    of: str | PassedSize = ""
    """What `x` is; empty: what is passed now."""
    kind: Literal["number"] = "number"


Passed = PassedArgument | PassedTensor | PassedSize | PassedNumber


@dataclass(frozen=True)
class OtherArgument:
    """What a launch is given for a parameter, or for two of them."""

    before: tuple[int, ...]
    """Which parameters, or from `GRID` on axes of the grid; of two each should get what the other gets."""
    after: Annotated[Passed, Field(discriminator="kind")]
    """What the first of them should get."""
    given: str = ""
    """The expression in the host code that it gets."""
    receiver: str = ""
    """The parameter or variable that gets it, or `the grid`."""
    exchanged_with: tuple[int, int] = (0, 0)
    """Where in the submission's code the other one is given."""
    kind: Literal["argument"] = "argument"

    @property
    def exchanged_dims(self) -> tuple[int, int] | None:
        """Return which two dims of a tensor should be in the other order."""
        return self.after.exchanged_dims if isinstance(self.after, PassedTensor) else None


@dataclass(frozen=True)
class OtherHostCode:
    """Other Python host code."""

    before: tuple[str, ...]
    """As it is written, at one place or several of a line."""
    after: tuple[str, ...]
    makes_up: bool = False
    """Whether it does with a kernel's result what the kernel itself most likely lacks: then it is no cause."""
    edits: tuple[tuple[int, int, str], ...] = ()
    """From where to where in the submission's code it is, and what has to stand there."""
    kind: Literal["host"] = "host"


KernelChange = (
    OtherComparison | OtherConstant | OtherOperator | AddedToOld | OtherOperand | OtherDivisor | FixedGuard | SecondCondition | OneMoreStep | EarlierStep
)  # fmt: skip
"""A change of a kernel's compiled code."""
Changed = KernelChange | OtherArgument | OtherHostCode
C = TypeVar("C", bound=Changed)
Kind = Literal[
    "comparison", "constant", "operator", "carried", "operand", "divisor", "guard", "condition", "around", "order", "argument", "host"
]  # fmt: skip


def map_values(changed: C, mapped: Callable[[KernelValue], KernelValue]) -> C:
    """Return a change with other values of its kernel in the place of its own."""
    sides = {"before": changed.before, "after": changed.after}
    new: dict[str, Any] = {
        name: mapped(side) if isinstance(side, KernelValue) else replace(side, values=tuple(map(mapped, side.values)))
        for name, side in sides.items()
        if isinstance(side, KernelValue) or (isinstance(side, Operation) and side.values)
    }  # fmt: skip
    return replace(changed, **new) if new else changed


def without_counts(changed: C) -> C:
    """Return a change with each value in the place of all of its line."""
    return map_values(changed, lambda one: one if one.nth == 1 else replace(one, nth=1))
