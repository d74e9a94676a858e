"""Where values come from, as a run on the simulator kept it: what was touched, what a wrong element is made of."""

from __future__ import annotations

from typing import Literal

from grader.records.base import Record


class Extent(Record):
    """Indices along one dim of a tensor."""

    first: int
    last: int
    step: int
    """0 where they are not evenly apart."""
    count: int
    size: int
    """How many indices the dim has."""


class Touched(Record):
    """What one line did to one tensor, over a whole run."""

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
    """How many were touched."""
    size: int
    """How many there are."""
    twice: int = 0
    """Elements that several threads of one launch stored to."""
    blocks: int = 0
    """Those of them that threads of several blocks stored to."""
    times: int = 0
    """How many threads' accesses these were, in all turns."""


Walk = Literal["", "moved", "fixed", "stored", "exchanged", "between"]
"""How the elements lie that a result has in place of others (`grader.judge.difference`).

`exchanged`: as they should for another element of the result; `between`: what is missing lies between those that a line takes over.
"""


class Dependence(Record):
    """What one wrong element of a result depends on, against what the reference's does."""

    kind: Literal["dependence"] = "dependence"
    element: tuple[int, ...]
    """Its index in the result."""
    output: int = 0
    tensor: str
    extents: tuple[Extent, ...]
    """The box of the elements that it misses, has too many, or has more than once."""
    count: int
    """How many these are."""
    expected: int
    """How many the reference's element depends on."""
    read: bool = False
    """Whether any thread read them at all."""
    threads: tuple[int, ...] = ()
    """First and last thread of a block that read what never arrives; empty where that says nothing."""
    walk: Walk = ""
    along: tuple[int, int] = (0, 0)
    """Of so many dims along which it depends on several, the one that falls short, counted from the last from 0."""
    holes: bool = False
    """Whether the elements that it misses lie here and there among those that it has."""
    stored: bool = True
    """Whether a kernel stores the element, where that is known."""
    whole: tuple[int, ...] = ()
    """Lines that bring all that is needed of other tensors: what decides whether they run is right."""


class Constant(Record):
    """A number of the program's text that takes part in a value."""

    line: int
    used: int
    """The line that computes with it."""
    value: float
    chosen: bool = False
    """Whether that line chooses between it and others."""


class Scale(Record):
    """A number from no memory (a size, a count of blocks) that something is multiplied with or divided by."""

    line: int
    value: float
    divides: bool


Nameless = tuple[Literal["before", "after"], ...]
"""Which of the values of a change the text has no name for: they are a part of what their line computes."""


Both = Literal["", "exchanged", "alike"]
"""Whether two values are changed: the one and the other take each other's place, or the same is done with both."""


class Counterfactual(Record):
    """A small change of the compiled code under which all results are right."""

    kind: Literal["counterfactual"] = "counterfactual"
    change: Literal[
        "comparison", "constant", "operator", "carried", "operand", "guard", "condition", "around", "argument", "host"
    ]  # fmt: skip
    """What is changed; `carried`: what a loop sets anew, added to what it was; `condition`: a condition, by a second one;
    `around`: a value, by one more operator; `argument`: what a launch is given; `host`: Python host code."""
    before: str
    after: str
    """In the words of PTX: `setp.lt.s32`, `argument 2`, `%tid.x`, a number; host code as it is written."""
    parameter: str = ""
    """Of an argument: which parameter or variable gets it; `before` is then the expression that it gets."""
    exchanged_with: tuple[int, int] = (0, 0)
    """Offsets into the submission's code of the argument that it should be exchanged with."""
    exchanged_dims: tuple[int, int] | None = None
    """Of an argument: which two dims of the tensor `after` should be in the other order."""
    taken_at: int = 0
    """The kernel's line that takes it as if they were, where the host passes the tensor as it is."""
    copies: int = 1
    """How many instructions are changed: those of several places of a line, or copies of one place."""
    nameless: Nameless = ()
    both: Both = ""
    right_before: float
    """The share of elements that are right without it."""
    alternatives: int = 1
    """How many changes do it."""
    also: tuple[int, ...] = ()
    """Further lines that are changed alike."""
    workloads: int = 1
    """On how many all is right with it."""
    edits: tuple[tuple[int, int, str], ...] = ()
    """Of host code: from where to where in the submission's code it is, and what has to stand there."""
    makes_up: bool = False
    """Whether it does with a kernel's result what the kernel itself most likely lacks: then it is no cause."""


class Slice(Record):
    """What made one wrong element, from what it read to where it was stored."""

    kind: Literal["slice"] = "slice"
    element: tuple[int, ...]
    output: int = 0
    computed: tuple[int, ...]
    """Lines that compute with floats on the way, in the order of the text."""
    stored: int
    """The line that stores it; 0 where torch does."""
    right: tuple[int, ...] = ()
    """Lines whose values are among those that the reference comes by."""
    constants: tuple[Constant, ...] = ()
    scales: tuple[Scale, ...] = ()
    """In the order in which they are used."""
    whole: bool = False
    """Whether the wrong elements are made of exactly what the reference's depend on."""
    unfinished: bool = False
    """Whether the reference comes by its value too and goes on from it, or has it at another element."""
    by_torch: bool = False
    """Whether torch makes the result of what kernels store: then the element is all of that."""
    beside: tuple[int, ...] = ()
    """Lines that compute right elements, where nothing computes this one."""
