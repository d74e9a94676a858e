"""The simulator's provenance report: a guest's JSON as typed records, or nothing."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from grader.languages import place_compiled_line
from grader.records import JsonValue, Place
from grader.simulator import fields
from grader.source import Source

Flat = NDArray[np.int64]
"""Flat indices of a tensor's elements, sorted, each once."""
Use = Literal["load", "store", "atomic"]
USES: Mapping[str, Use] = {"load": "load", "store": "store", "atomic": "atomic"}
MOST_ACCESSES = 2000
MOST_TENSORS = 200
MOST_ELEMENTS = 1 << 22
"""Most elements of a traced tensor."""
MOST_TOGETHER = 1 << 25
"""Most elements of all tensors of a report, and of all its reads, since a guest controls the report."""
TOO_MANY = "more reads than are looked at"
LARGEST_ITEM = 16
"""Bytes of an element."""
NOTHING: Flat = np.zeros(0, np.int64)


@dataclass(frozen=True)
class Tensor:
    """A tensor known to the grader or returned by forward."""

    role: str
    dtype: str
    item: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    address: int

    @property
    def size(self) -> int:
        """Number of its elements."""
        return math.prod(self.shape)

    @cached_property
    def offsets(self) -> Flat:
        """Each element's distance from the first, in elements, in the order of the indices."""
        index = np.zeros(self.shape, np.int64)
        for dim, stride in enumerate(self.strides):
            along = np.arange(self.shape[dim]) * stride
            index += along.reshape([-1 if d == dim else 1 for d in range(len(self.shape))])
        return index.ravel()


@dataclass(frozen=True)
class Access:
    """One instruction's accesses to one allocation."""

    number: int
    what: Use
    place: Place | None
    kernel: str
    width: int
    base: int
    twice: int
    blocks: int
    boxes: Mapping[int, tuple[int, tuple[tuple[int, int, int, int], ...]]] = field(
        default_factory=dict
    )
    """By tensor: the number of touched elements, and along each dim first, last, step and number."""
    times: int = 0
    """Number of accesses."""


@dataclass(frozen=True)
class Reads:
    """The elements that one access loaded for a result's element."""

    access: Access
    elements: Flat
    """Of `access.width` bytes, from the allocation's start."""
    times: int = 0
    """Number of reads of them."""
    over: frozenset[int] = frozenset()
    """Numbers of the steps that loaded them from memory written by the program's threads."""


@dataclass(frozen=True)
class Step:
    """An instruction in the computation of an element."""

    place: Place
    value: float
    """Its last value."""
    number: int
    uses: frozenset[int]
    """Numbers of the steps that computed its operands."""
    floats: bool
    call: Place | None = None
    """The outermost line of the submission that it belongs to: the call of a function that was inlined."""
    op: str = ""
    """The instruction: `fma.rn.f32`."""
    operands: tuple[float, ...] = ()
    """Its operands from memory."""
    in_blocks: tuple[float, ...] = ()
    """Its last value in each of some other blocks."""


@dataclass(frozen=True)
class Origin:
    """The provenance of one element."""

    reads: tuple[Reads, ...]
    steps: tuple[Step, ...] = ()
    """All steps of the computation, in order of their last execution."""
    stored: tuple[int, ...] = ()
    """Lines with intermediate stores to global memory."""
    block: int = 0
    """A thread that read for it."""
    total: float = 0.0
    """Sum of the last stored values."""
    constants: tuple[tuple[int, int, float, bool], ...] = ()
    """Constants involved, each with its line, the line that uses it, and whether that line selects among values."""

    @property
    def computed(self) -> tuple[Step, ...]:
        """The steps that compute with floats."""
        return tuple(step for step in self.steps if step.floats)


@dataclass(frozen=True)
class Lost:
    """Reads that reach no result, and the place where their values end."""

    reads: Reads
    place: Place | None
    """Place where they end."""
    goes_on: Place | None
    """The step that uses the same line's values elsewhere, and drops these."""
    what: str
    """The class of the last instruction."""
    threads: tuple[int, ...]
    """First and last thread of a block."""


@dataclass(frozen=True)
class Told:
    """The whole provenance report of one run."""

    unfollowed: str
    """Operations that could not be followed, so that dependences are incomplete."""
    tensors: tuple[Tensor, ...]
    accesses: tuple[Access, ...]
    origins: tuple[Origin | None, ...]
    """For each requested element; None where no kernel computed it from memory."""
    of_results: bool
    """Whether `origins` are of forward's results; else of the last kernel's stores, before torch's operators."""
    lost: tuple[Lost, ...]

    def elements_of(self, reads: Reads, tensor: Tensor) -> Flat:
        """Return the tensor's elements among them."""
        return _elements(reads.access, reads.elements, tensor)

    def box(
        self, access: Access, tensor: Tensor
    ) -> tuple[int, tuple[tuple[int, int, int, int], ...]]:
        """Return the box of a tensor that an access touched."""
        return access.boxes.get(self.tensors.index(tensor), (0, ()))


def _elements(access: Access, elements: Flat, tensor: Tensor) -> Flat:
    bytes_from_base = tensor.offsets * tensor.item + (tensor.address - access.base)
    first = np.floor_divide(bytes_from_base, access.width)
    read = np.zeros(tensor.size, bool)
    for part in range(max(1, tensor.item // access.width)):
        read |= np.isin(first + part, elements)
    return np.flatnonzero(read).astype(np.int64)


def read_told(report: JsonValue, source: Source) -> Told | None:
    """Return the contents of a report of any shape; None where there are none."""
    given = fields.as_mapping(report)
    room = _Room(MOST_TOGETHER)
    tensors = tuple(
        _tensor(entry, room) for entry in fields.entries(given.get("tensors"), MOST_TENSORS)
    )
    accesses = tuple(
        _access(number, entry, source, len(tensors))
        for number, entry in enumerate(fields.entries(given.get("accesses"), MOST_ACCESSES))
    )
    origins = given.get("origins")
    if not tensors or not accesses or not isinstance(origins, list):
        return None
    reads = _Room(MOST_TOGETHER)
    found = tuple(_origin(entry, accesses, source, reads) for entry in origins[:200])
    return Told(
        unfollowed=fields.text(given.get("unfollowed")) or ("" if reads.left else TOO_MANY),
        tensors=tensors,
        accesses=accesses,
        origins=found,
        of_results=given.get("roots") == "outputs",
        lost=tuple(_lost_accesses(fields.entries(given.get("lost"), 500), accesses, source, reads)),
    )


@dataclass
class _Room:
    """Remaining number of elements allowed for a report."""

    left: int

    def take(self, wanted: int) -> int:
        """Return as many elements as allowed."""
        taken = min(wanted, self.left)
        self.left -= taken
        return taken


def _tensor(entry: dict[str, JsonValue], room: _Room) -> Tensor:
    shape, strides = (_wholes(entry.get(name), 16) for name in ("shape", "strides"))
    item = fields.count(entry.get("item"))
    size = math.prod(shape)
    known = len(shape) == len(strides) and 0 < item <= LARGEST_ITEM and 0 < size <= MOST_ELEMENTS
    if not known or room.take(size) < size:
        return Tensor("", "", 1, (), (), 0)
    return Tensor(
        role=fields.text(entry.get("role"), 80),
        dtype=fields.text(entry.get("dtype"), 20),
        item=item,
        shape=shape,
        strides=strides,
        address=fields.count(entry.get("address")),
    )


def _wholes(value: JsonValue, most: int) -> tuple[int, ...]:
    return tuple(fields.count(one) for one in value[:most]) if isinstance(value, list) else ()


def _access(number: int, entry: dict[str, JsonValue], source: Source, tensors: int) -> Access:
    boxes = {}
    for box in fields.entries(entry.get("tensors"), MOST_TENSORS):
        dims = box.get("dims")
        rows = [row for row in dims[:16] if isinstance(row, list)] if isinstance(dims, list) else []
        at = fields.count(box.get("tensor"))
        if at < tensors:
            numbers = tuple(_range(row) for row in rows)
            boxes[at] = (fields.count(box.get("count")), numbers)
    return Access(
        number=number,
        what=USES.get(fields.text(entry.get("what")), "load"),
        place=_place(entry, source),
        kernel=fields.text(entry.get("kernel")),
        width=max(fields.count(entry.get("width")), 1),
        base=fields.count(entry.get("base")),
        twice=fields.count(entry.get("twice")),
        blocks=fields.count(entry.get("blocks")),
        times=fields.count(entry.get("accesses")),
        boxes=boxes,
    )


def _range(row: list[JsonValue]) -> tuple[int, int, int, int]:
    first, last, step, count = [*(fields.count(one) for one in row[:4]), 0, 0, 0, 0][:4]
    return first, last, step, count


def _place(entry: dict[str, JsonValue], source: Source) -> Place | None:
    """Return the innermost frame that is a line of the submission."""
    return next(iter(_places(entry, source)), None)


def _places(entry: dict[str, JsonValue], source: Source) -> list[Place]:
    """Return the frames that are lines of the submission, the innermost first."""
    given = entry.get("frames")
    frames: list[tuple[JsonValue, JsonValue]] = [(entry.get("file"), entry.get("line"))]
    if isinstance(given, list):
        frames += [
            (pair[0], pair[1]) for pair in given[:20] if isinstance(pair, list) and len(pair) == 2
        ]
    found = (
        place_compiled_line(source, fields.text(file), fields.count(line)) for file, line in frames
    )
    return [place for place in found if place is not None]


def _runs(value: JsonValue, room: _Room) -> Flat:
    rows = value[:20000] if isinstance(value, list) else []
    parts = []
    for row in rows:
        first, step, count = (*_wholes(row, 3), 0, 0, 0)[:3]
        parts.append(first + step * np.arange(room.take(count), dtype=np.int64))
    return np.concatenate(parts) if parts else NOTHING


def _reads(entry: dict[str, JsonValue], accesses: tuple[Access, ...], room: _Room) -> Reads | None:
    number = fields.count(entry.get("access"))
    if number >= len(accesses):
        return None
    return Reads(
        accesses[number],
        _runs(entry.get("runs"), room),
        fields.count(entry.get("reads")),
        frozenset(_wholes(entry.get("over"), 64)),
    )


CHOOSE = ("selp", "min", "max")
FLOATS = frozenset({"fp32", "fp64", "fp16", "special"})


def _origin(
    value: JsonValue, accesses: tuple[Access, ...], source: Source, room: _Room
) -> Origin | None:
    if not isinstance(value, dict):
        return None
    given = fields.entries(value.get("reads"), MOST_ACCESSES)
    found = (_reads(entry, accesses, room) for entry in given)
    steps = [
        (
            what := fields.text(entry.get("class")),
            _step(entry, places[0], places[-1], floats=what in FLOATS),
        )
        for entry in sorted(
            fields.entries(value.get("lines"), 2000), key=lambda e: fields.count(e.get("order"))
        )
        if (places := _places(entry, source))
    ]
    constants = {
        (place.line, used.line, number, fields.text(entry.get("op")).startswith(CHOOSE))
        for entry in fields.entries(value.get("constants"), 500)
        for used in [_place(fields.as_mapping(entry.get("used")), source)]
        for place in [_place(entry, source) or used]
        if place is not None
        and used is not None
        and math.isfinite(number := _single(fields.count(entry.get("bits"))))
    }
    return Origin(
        reads=tuple(reads for reads in found if reads is not None),
        steps=tuple(step for _, step in steps),
        stored=tuple(step.place.line for what, step in steps if what in {"store_global", "atomic"}),
        constants=tuple(sorted(constants)),
        block=fields.count(value.get("block")),
        total=_number(value.get("total")),
    )


def _step(entry: dict[str, JsonValue], place: Place, call: Place | None, *, floats: bool) -> Step:
    given, values = (
        tuple(map(_number, one[:most])) if isinstance(one, list) else ()
        for one, most in ((entry.get("other"), 3), (entry.get("values"), 16))
    )
    return Step(
        place=place,
        value=values[0] if values else 0.0,
        number=fields.count(entry.get("id")),
        uses=frozenset(_wholes(entry.get("from"), 500)),
        floats=floats,
        op=fields.text(entry.get("op"), 40),
        operands=given,
        in_blocks=values[1:],
        call=call,
    )


def _number(value: JsonValue) -> float:
    """Return a step's value; NaN if not finite."""
    if value is None:
        return math.nan
    plain = isinstance(value, (int, float)) and not isinstance(value, bool)
    return float(value) if plain and abs(value) < 1e38 else 0.0


def _single(bits: int) -> float:
    return float(np.array(bits & 0xFFFFFFFF, np.uint32).view(np.float32))


def _lost_accesses(
    entries: list[dict[str, JsonValue]],
    accesses: tuple[Access, ...],
    source: Source,
    room: _Room,
) -> Iterator[Lost]:
    for entry in entries:
        reads = _reads(entry, accesses, room)
        threads = _runs(entry.get("threads"), room)
        if reads is not None:
            ends = (int(threads[0]), int(threads[-1])) if len(threads) else ()
            at, on = (_places(one, source) for one in (entry, fields.as_mapping(entry.get("next"))))
            goes_on = (
                on[0 if len(at) > 1 else -1] if on else None
            )  # where the function stands that it ends in
            yield Lost(reads, at[0] if at else None, goes_on, fields.text(entry.get("class")), ends)
