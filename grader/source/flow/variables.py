"""Declared variables and arrays, and their types."""

from __future__ import annotations

import numpy as np

from grader.source.flow.intrinsics import Intrinsics
from grader.source.flow.memory import MAX_CELLS, Region, Shadow
from grader.source.flow.scalar_types import SIZES, type_letter
from grader.source.flow.state import Box, converted
from grader.source.flow.tree import (
    Declare,
    Items,
    Name,
    Node,
)
from grader.source.flow.values import Pointer, Value, some, unknown

CELL = "cell"
"""Type of the variable of a shared scalar: every use is an access to shared memory."""


class Variables(Intrinsics):
    """What declarations do."""

    def declare(self, stmt: Declare) -> None:
        """Declare a variable, an array or a shared array."""
        kind = self.type_name(stmt.type)
        if stmt.shared:
            self._declare_shared(stmt, kind)
        elif stmt.dims:
            self._declare_array(stmt, kind)
        elif stmt.reference and stmt.init is not None and isinstance(stmt.init, Name):
            box = self.find(stmt.init.id)
            if box is not None:
                self.frames[-1].bind(stmt.name, box)
                return
            self.define(stmt.name, self.eval(stmt.init))
        else:
            self._declare_plain(stmt, kind)

    def _declare_plain(self, stmt: Declare, kind: str) -> None:
        letter = "?" if stmt.pointer or kind == "auto" else type_letter(kind)
        special = self.construct(kind, stmt)
        value = special if special is not None else self._initial(stmt)
        if letter == "?" and kind == "auto" and value.pointer is None and value.thing is None:
            letter = value.type
        if letter == "i" and value.type in {"u", "i"}:
            self.check_fits(value, letter, stmt.node)
        box = Box(converted(value, letter), letter)
        self.frames[-1].bind(stmt.name, box)
        if stmt.pointer and box.value.pointer is not None and stmt.type in SIZES:
            box.value.pointer.type = stmt.type

    def _initial(self, stmt: Declare) -> Value:
        if stmt.init is None:
            return Value(None, varies=False)
        if isinstance(stmt.init, Items) and not stmt.init.comma:
            parts = [self.eval(item) for item in stmt.init.items]
            return parts[0] if len(parts) == 1 else unknown(*parts)
        return self.eval(stmt.init)

    def _declare_array(self, stmt: Declare, kind: str) -> None:
        dims = self._dims(stmt)
        region = Region(stmt.name, "local", kind, dims or (), None, stmt.node)
        region.summary = Value(None, type_letter(kind), varies=False)
        if isinstance(stmt.init, Items):
            for index, item in enumerate(stmt.init.items):
                region.values[index] = self.eval(item)
        self.define(stmt.name, Value(None, varies=False, pointer=Pointer(region, type=kind)))

    def _dims(self, stmt: Declare) -> tuple[int, ...] | None:
        sizes = []
        for dim in stmt.dims:
            size = self.eval(dim).scalar if dim is not None else None
            if size is None:
                return None
            sizes.append(size)
        return tuple(sizes)

    def _declare_shared(self, stmt: Declare, kind: str) -> None:
        known = next(
            (
                r
                for r in self.walk.regions
                if r.node is not None and r.node.id == stmt.node.id and r.name == stmt.name
            ),
            None,
        )
        if known is None:
            known = self._new_shared(stmt, kind)
            self.walk.regions.append(known)
        scalar = not stmt.dims and not stmt.extern and not known.escaped
        value = Value(None, varies=False, pointer=Pointer(known, type=kind))
        self.define(stmt.name, value, CELL if scalar else "?")

    def _new_shared(self, stmt: Declare, kind: str) -> Region:
        dims = self._dims(stmt)
        size = SIZES.get(kind, 4)
        region = Region(stmt.name, "shared", kind, dims or (), None, stmt.node)
        if stmt.extern:
            region.dynamic = True
            total = self.walk.launch.shared
            region.cells = None if total is None else total // size
        elif dims is not None:
            region.cells = int(np.prod(dims, dtype=np.int64)) if dims else 1
        opaque = kind not in SIZES and kind not in self.type_parameters()
        if region.cells is None or region.cells > MAX_CELLS * 4 or opaque:
            region.escaped = True
        else:
            region.shadow = Shadow(max(region.cells, 0), self.words)
        return region

    def type_parameters(self) -> frozenset[str]:
        """Return the names of template type parameters in sight."""
        return frozenset(
            p.name
            for frame in self.frames
            if frame.function is not None
            for p in frame.function.template
            if p.is_type
        )

    def type_name(self, text: str) -> str:
        """Return a type's text with template parameters and aliases replaced."""
        for frame in reversed(self.frames):
            if text in frame.types:
                text = frame.types[text]
                break
        return self.program.aliases.get(text, text)

    def size_of(self, text: str) -> int:
        """Return a type's size in bytes; of an expression, its variable's type's."""
        if text.rstrip().endswith("*"):
            return 8
        return SIZES.get(self.type_name(text.replace("const ", "").strip()), 4)

    def check_fits(self, value: Value, letter: str, node: Node) -> None:
        """Note a number that its 32-bit type can't hold."""
        number, limit = value.number, 1 << (31 if letter == "i" else 32)
        if number is None or isinstance(number, float):
            return
        over = some(number >= limit) if isinstance(number, np.ndarray) else number >= limit
        if over and some(self.mask):
            worst = int(np.max(np.where(self.mask, number, 0)))
            if worst >= limit:
                self.emit("int-overflow", node, data={"value": worst})
