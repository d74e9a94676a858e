"""Provenance recorded by the simulator: the memory that lines touched, the elements that a wrong element depends on."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from grader.records.base import Record
from grader.records.changes import Changed, OtherHostCode


class Extent(Record):
    """Indices along one dim of a tensor."""

    first: int
    last: int
    step: int
    """Distance between them; 0 where they are not evenly spaced."""
    count: int
    size: int
    """How many indices the dim has."""


class Touched(Record):
    """One line's accesses to one tensor, over a whole run."""

    kind: Literal["touched"] = "touched"
    tensor: str
    """`input 1`, `output 1`, or a weight's name."""
    dtype: str
    item: int
    """Bytes of one of its elements."""
    access: Literal["load", "store", "atomic"]
    width: int
    """Bytes that one access of one element moves."""
    extents: tuple[Extent, ...]
    """Along each dim."""
    elements: int
    """Number of elements touched."""
    size: int
    """Number of elements of the tensor."""
    twice: int = 0
    """Elements that several threads of one launch stored to."""
    blocks: int = 0
    """Those of them that threads of several blocks stored to."""
    times: int = 0
    """Number of accesses by threads, over all iterations."""


Walk = Literal["", "moved", "fixed", "stored", "exchanged", "between"]
"""Position of elements that a result depends on in place of others (`grader.judge.difference`).

`exchanged`: right for another element of the result; `between`: the missing ones lie between those that a line takes
too many.
"""


class Dependence(Record):
    """The dependences of one wrong element of a result, against those of the reference's element."""

    kind: Literal["dependence"] = "dependence"
    element: tuple[int, ...]
    """Its index in the result."""
    output: int = 0
    tensor: str
    extents: tuple[Extent, ...]
    """The box of the elements that it misses, has too many, or has more than once."""
    count: int
    """Number of those elements."""
    expected: int
    """Number of elements that the reference's element depends on."""
    read: bool = False
    """Whether any thread read them at all."""
    threads: tuple[int, ...] = ()
    """First and last thread of a block that read elements which never arrive; empty where that is no pattern."""
    walk: Walk = ""
    along: tuple[int, int] = (0, 0)
    """Number of dims along which it depends on several elements, and which of them falls short, counted from the last,
    from 0."""
    holes: bool = False
    """Whether the missing elements are scattered among the present ones."""
    stored: bool = True
    """Whether a kernel stores the element, where that is known."""
    whole: tuple[int, ...] = ()
    """Lines that load everything needed of other tensors: their conditions are right."""


class Constant(Record):
    """A literal number in the program's text that takes part in a value."""

    line: int
    used: int
    """The line that computes with it."""
    value: float
    chosen: bool = False
    """Whether that line selects between it and other values."""


class Scale(Record):
    """A factor or divisor that isn't read from memory (a size, a count of blocks)."""

    line: int
    value: float
    divides: bool


class Counterfactual(Record):
    """A small change of the compiled code under which all results are right."""

    kind: Literal["counterfactual"] = "counterfactual"
    change: Annotated[Changed, Field(discriminator="kind")]
    taken_at: int = 0
    """The kernel's line that assumes another order of arguments or dims, where the host passes them unchanged."""
    copies: int = 1
    """Number of changed instructions: several places of a line, or copies of one place."""
    right_before: float
    """Share of elements that are right without the change."""
    alternatives: int = 1
    """Number of changes that make the results right."""
    also: tuple[int, ...] = ()
    """Further lines with the same change."""
    workloads: int = 1
    """Number of workloads on which all results are right with it."""

    @property
    def makes_up(self) -> bool:
        """Whether it adds to a kernel's result a step that the kernel itself most likely lacks: then it is not the cause."""
        return isinstance(self.change, OtherHostCode) and self.change.makes_up


class Slice(Record):
    """The computation of one wrong element, from its loads to its store."""

    kind: Literal["slice"] = "slice"
    element: tuple[int, ...]
    output: int = 0
    computed: tuple[int, ...]
    """Lines that compute with floats on the way, in the order of the text."""
    stored: int
    """The line that stores it; 0 where torch does."""
    right: tuple[int, ...] = ()
    """Lines whose values are intermediate values of the reference too."""
    constants: tuple[Constant, ...] = ()
    scales: tuple[Scale, ...] = ()
    """In the order in which they are used."""
    whole: bool = False
    """Whether the wrong elements depend on exactly the elements that the reference's depend on."""
    unfinished: bool = False
    """Whether its value is an intermediate value of the reference, or the reference's value at another element."""
    by_torch: bool = False
    """Whether torch computes the result from what kernels store: then the element is all of their output."""
    beside: tuple[int, ...] = ()
    """Lines that compute right elements, where nothing computes this one."""
