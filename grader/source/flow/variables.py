"""Declared variables and arrays, and their types."""

from grader.source.cpp import Declare, Items, Name, Node
from grader.source.flow.access import Accesses
from grader.source.flow.memory import Region
from grader.source.flow.state import Box
from grader.source.flow.values import Pointer, Value, converted, unknown_value
from grader.source.scalar_types import SIZES, type_letter

CELL = "cell"
"""Type of the variable of a shared scalar: every use is an access to shared memory."""


class Variables(Accesses):
    """What declarations do."""

    def construct(self, _kind: str, _stmt: Declare) -> Value | None:
        """Return the object that a declaration makes, for the types that are known."""
        return None

    def _run_declare(self, stmt: Declare) -> str:
        """Declare a variable, an array or a shared array."""
        kind = self.type_name(stmt.type)
        if stmt.shared:
            self._declare_shared(stmt, kind)
        elif stmt.dims:
            self._declare_array(stmt, kind)
        elif stmt.reference and isinstance(stmt.init, Name) and self.find(stmt.init.id):
            self.frames[-1].bind(stmt.name, self.frames[-1].names[stmt.init.id])
        else:
            self._declare_plain(stmt, kind)
        return ""

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
            return Value()
        if isinstance(stmt.init, Items) and not stmt.init.comma:
            parts = [self.eval(item) for item in stmt.init.items]
            return parts[0] if len(parts) == 1 else unknown_value(*parts)
        return self.eval(stmt.init)

    def _declare_array(self, stmt: Declare, kind: str) -> None:
        region = Region(stmt.name, "local", kind, self._dims(stmt) or (), None, stmt.node)
        if isinstance(stmt.init, Items):
            region.values = {k: self.eval(item) for k, item in enumerate(stmt.init.items)}
        self.define(stmt.name, Value(pointer=Pointer(region, type=kind)))

    def _dims(self, stmt: Declare) -> tuple[int, ...] | None:
        sizes = [self.eval(dim).scalar if dim is not None else None for dim in stmt.dims]
        known = tuple(size for size in sizes if size is not None)
        return known if len(known) == len(sizes) else None

    def _declare_shared(self, stmt: Declare, kind: str) -> None:
        same = (r for r in self.walk.regions if r.node is stmt.node and r.name == stmt.name)
        region = next(same, None) or self._new_shared(stmt, kind)
        scalar = not stmt.dims and not stmt.extern and not region.escaped
        value = Value(pointer=Pointer(region, type=kind))
        self.define(stmt.name, value, CELL if scalar else "?")

    def _new_shared(self, stmt: Declare, kind: str) -> Region:
        dims = self._dims(stmt)
        region = Region(stmt.name, "shared", kind, dims or (), None, stmt.node)
        if stmt.extern:
            region.dynamic, total = True, self.walk.launch.shared
            region.cells = None if total is None else total // SIZES.get(kind, 4)
        elif dims is not None:
            region.cells = 1
            for size in dims:
                region.cells *= size
        opaque = kind not in SIZES and kind not in self._type_parameters()
        region.escaped = region.cells is None or opaque
        self.walk.regions.append(region)
        return region

    def _type_parameters(self) -> frozenset[str]:
        """Return the names of template type parameters in sight."""
        functions = (frame.function for frame in self.frames if frame.function is not None)
        return frozenset(p.name for one in functions for p in one.template_parameters if p.is_type)

    def type_name(self, text: str) -> str:
        """Return a type's text with template parameters and aliases replaced."""
        for frame in reversed(self.frames):
            if text in frame.types:
                text = frame.types[text]
                break
        return self.unit.type_names.get(text, text)

    def size_of(self, text: str) -> int:
        """Return a type's size in bytes; of an expression, its variable's type's."""
        if text.rstrip().endswith("*"):
            return 8
        return SIZES.get(self.type_name(text.replace("const ", "").strip()), 4)

    def check_fits(self, value: Value, letter: str, node: Node) -> None:
        """Note a number that its 32-bit type can't hold."""
        if (value.scalar or 0) >= 1 << (31 if letter == "i" else 32):
            self.emit("int-overflow", node, value.scalar or 0)
