"""The CUDA C++ in a submission: kernels, launches, bindings, and the origin of compiled lines."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from grader.languages.language import CodeText, CompiledLine, Entry, Kernel
from grader.records import Place
from grader.source import Source, Unit

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)


def read(source: Source) -> CudaReading | None:
    """Read a submission's extensions and kernels; None where it has neither."""
    return CudaReading(source) if source.extensions or source.units else None


@dataclass(frozen=True, eq=False)
class CudaReading:
    """`Reading` of the texts that reach `cuda_sources` and `cpp_sources`, over the trees of `Source`."""

    source: Source

    @cached_property
    def kernels(self) -> tuple[Kernel, ...]:
        """`__global__` functions with a body."""
        return tuple(
            Kernel(one.name, unit.place(one.node))
            for unit in self.source.units
            for one in unit.kernels
        )

    @cached_property
    def launches(self) -> tuple[Entry, ...]:
        """Each `<<<...>>>`."""
        return tuple(
            Entry(one.kernel, unit.place(one.node))
            for unit in self.source.units
            for one in unit.launches
        )

    @cached_property
    def bindings(self) -> tuple[Entry, ...]:
        """Functions exported by `functions=` of `load_inline`, and by each `m.def`."""
        source = self.source
        exported = (
            (name, source.place(e.node)) for e in source.extensions for name in e.functions or ()
        )
        bound = ((one.name, unit.place(one.node)) for unit in source.units for one in unit.bindings)
        return tuple(Entry(name, place) for name, place in (*exported, *bound))

    @cached_property
    def texts(self) -> tuple[CodeText, ...]:
        """CUDA units, then C++ units."""
        return tuple(map(_text_of, self.source.units))

    @cached_property
    def host_functions(self) -> tuple[str, ...]:
        """Host functions of all units, without comments."""
        functions = (one for unit in self.source.units for one in unit.host_functions)
        return tuple(_COMMENT.sub("", one.text) for one in functions)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of kernels, C++ functions, extensions and the variables that they are bound to."""
        units, extensions = self.source.units, self.source.extensions
        functions = (
            f.name for u in units for f in (*u.kernels, *u.host_functions, *u.declarations)
        )
        made = (name for one in extensions for name in (one.name, one.variable) if name)
        return (*functions, *made)

    @cached_property
    def called(self) -> frozenset[str]:
        """Every identifier of any role outside `#if 0`."""
        return frozenset(name for unit in self.source.units for name in unit.names)

    def place(self, at: CompiledLine) -> Place | None:
        """Return the place of a line of `cuda.cu` or `main.cpp`; its folder may name the extension."""
        folders, _, name = at.file.rpartition("/")
        folder = folders.rpartition("/")[2] if folders or at.file.startswith("/") else None
        named = self.source.compiled_place(name, at.line, at.column, folder)
        return named or self.source.compiled_place(name, at.line, at.column)


def _text_of(unit: Unit) -> CodeText:
    return CodeText(
        language=unit.language,
        text=unit.text,
        plain=_COMMENT.sub("", unit.text),
        first=unit.place_line(1),
        last=unit.place_line(len(unit.lines)),
        has_kernels=unit.language == "cuda",
    )
