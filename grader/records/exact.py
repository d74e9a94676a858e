"""What exact arithmetic says of a program beside its reference."""

from __future__ import annotations

from typing import Literal

from grader.records.base import Record

Algebraic = Literal["equal", "not shown", "not applicable"]


class Exact(Record):
    """A program and its reference in an exact algebra, on one workload: no verdict hangs on it."""

    algebraic: Algebraic
    """`equal`: equal but for rounding, for all values of inputs and weights that take the same path; `not shown`:
    no proof of being wrong; `not applicable`: the reference can't be followed, or the program was seen to be no function of
    its inputs."""
    workload: str
    reason: str = ""
    """What could not be followed, or why nothing is said, where that is known."""
    elements: int = 0
    unequal: int = 0
    constants: int = 0
    """Elements of the reference's results that are constants on this path: a ReLU's zeros."""
    where: str = ""
    """Where the unequal elements stand, in words; empty where all are unequal."""
    without: str = ""
    """What the reference must be without to be equal: `bias`, `input 2`, `its epsilon`."""

    @property
    def sentence(self) -> str:
        """Return it as a person reads it; empty where it says nothing."""
        where = f"in exact arithmetic, at {self.workload},"
        if self.algebraic == "equal":
            return (
                f"{where} it equals the reference in every element: they differ by rounding alone"
            )
        if self.algebraic == "not applicable":
            return f"exact arithmetic says nothing here: {self.reason}"
        if self.without:
            return f"{where} it equals the reference without {self.without}, and not with it"
        extent = f"{self.unequal} of {self.elements} elements are" if self.elements else "it is"
        places = f", {self.where}" if self.where else ""
        why = f" ({self.reason})" if self.reason else ""
        return f"{where} {extent} not shown equal to the reference{places}{why}; that alone is no proof of an error"
