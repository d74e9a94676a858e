"""Declared variables and arrays, and their types."""

from grader.source.cpp import Declare, Items, Name
from grader.source.flow.memory import Region
from grader.source.flow.pointers import Pointers
from grader.source.flow.state import Box
from grader.source.flow.values import Pointer, Value, converted, unknown_value
from grader.source.scalar_types import SIZES, type_letter


class Variables(Pointers):
    """What declarations do."""

    def construct(self, _kind: str, _stmt: Declare) -> Value | None:
        """Return the object that a declaration makes, for the types that are known."""
        return None

    def _run_declare(self, stmt: Declare) -> str:
        """Declare a variable or an array."""
        kind = self.type_name(stmt.type)
        if stmt.dims:
            region = Region(stmt.name)
            if isinstance(stmt.init, Items):
                region.values = {k: self.eval(item) for k, item in enumerate(stmt.init.items)}
            self.define(stmt.name, Value(pointer=Pointer(region)))
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
        self.frames[-1].bind(stmt.name, Box(converted(value, letter), letter))

    def _initial(self, stmt: Declare) -> Value:
        if stmt.init is None:
            return Value()
        if isinstance(stmt.init, Items) and not stmt.init.comma:
            parts = [self.eval(item) for item in stmt.init.items]
            return parts[0] if len(parts) == 1 else unknown_value(*parts)
        return self.eval(stmt.init)

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
