"""What of a submission is CUDA C++: kernels, launches, bindings, and where a compiled line comes from."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from grader.languages.language import CodeText, CompiledLine, Entry, Kernel
from grader.records import Place
from grader.source import Source, Unit
from grader.source.cuda_code import cuda_code

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
            Kernel(one.name, unit.place(one.node)) for unit in self._units for one in unit.kernels
        )

    @cached_property
    def launches(self) -> tuple[Entry, ...]:
        """Each `<<<...>>>`."""
        return tuple(
            Entry(one.kernel, unit.place(one.node)) for unit in self._units for one in unit.launches
        )

    @cached_property
    def bindings(self) -> tuple[Entry, ...]:
        """What `functions=` of `load_inline` exports, and each `m.def`."""
        return tuple(self._bindings())

    @cached_property
    def texts(self) -> tuple[CodeText, ...]:
        """CUDA units, then C++ units."""
        return tuple(map(_text_of, self._units))

    @cached_property
    def host_functions(self) -> tuple[str, ...]:
        """Host functions of all units, without comments."""
        functions = (one for unit in self._units for one in unit.host_functions)
        return tuple(_COMMENT.sub("", one.text) for one in functions)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of kernels, C++ functions, extensions and the variables that they are bound to."""
        return tuple(self._names())

    @cached_property
    def called(self) -> frozenset[str]:
        """Every identifier, of whatever role, that `#if 0` does not switch off."""
        return frozenset(name for unit in self._units for name in cuda_code(unit).names)

    def place(self, at: CompiledLine) -> Place | None:
        """Return where a line of `cuda.cu` or `main.cpp` stands; its folder may name the extension."""
        folders, _, name = at.file.rpartition("/")
        folder = folders.rpartition("/")[2] if folders or at.file.startswith("/") else None
        named = self.source.compiled_place(name, at.line, at.column, folder)
        return named or self.source.compiled_place(name, at.line, at.column)

    @property
    def _units(self) -> tuple[Unit, ...]:
        return self.source.units

    def _bindings(self) -> Iterator[Entry]:
        for extension in self.source.extensions:
            place = self.source.place(extension.node)
            yield from (Entry(name, place) for name in extension.functions or ())
        for unit in self._units:
            yield from (Entry(one.name, unit.place(one.node)) for one in unit.bindings)

    def _names(self) -> Iterator[str]:
        for unit in self._units:
            functions = (*unit.kernels, *unit.host_functions, *unit.declarations)
            yield from (one.name for one in functions)
        for extension in self.source.extensions:
            yield from filter(None, (extension.name, extension.variable))


def _text_of(unit: Unit) -> CodeText:
    return CodeText(
        language=unit.language,
        text=unit.text,
        plain=_COMMENT.sub("", unit.text),
        first=unit.place_line(1),
        last=unit.place_line(len(unit.lines)),
        has_kernels=unit.language == "cuda",
    )
