"""The comparison of a program and its reference in exact arithmetic."""

from __future__ import annotations

from typing import Literal

from grader.records.base import Record

Algebraic = Literal["equal", "not shown", "not applicable"]


class Exact(Record):
    """A program and its reference in an exact algebra, on one workload: not part of the verdict."""

    algebraic: Algebraic
    """`equal`: equal but for rounding, for all values of inputs and weights that take the same path; `not shown`:
    no proof of being wrong; `not applicable`: the reference can't be followed, or the program was seen to be no function of
    its inputs."""
    workload: str
    reason: str = ""
    """The operation that could not be followed, or another reason for `not applicable`, where known."""
    elements: int = 0
    unequal: int = 0
    constants: int = 0
    """Elements of the reference's results that are constants on this path: a ReLU's zeros."""
    where: str = ""
    """Where the unequal elements stand, in words; empty where all are unequal."""
    without: str = ""
    """The part that the reference must lose to be equal: `bias`, `input 2`, `its epsilon`."""

    @property
    def sentence(self) -> str:
        """Return the result as a sentence; empty where there is nothing to say."""
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
