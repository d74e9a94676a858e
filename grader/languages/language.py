"""The interface of a language: how its text is recognised, read, built and located."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from grader.records import Evidence, JsonValue, Place
from grader.source import Source


@dataclass(frozen=True)
class Kernel:
    """A kernel in the submission's text."""

    name: str
    place: Place
    """Place of its definition: in a string for CUDA C++, of the Python function for a language in Python."""


@dataclass(frozen=True)
class Entry:
    """A place where a kernel is launched, or a function through which Python reaches one."""

    name: str
    """Name of the kernel as written there; for a binding its name in Python."""
    place: Place


@dataclass(frozen=True)
class CodeText:
    """A stretch of the submission in the language's own syntax: a string for a compiler, a kernel's function."""

    language: str
    """Value of `Place.language` for its lines."""
    text: str
    """The text as its compiler receives it, as far as known."""
    plain: str
    """Without comments."""
    first: Place
    """Its first line in the submission."""
    last: Place
    has_kernels: bool
    """Whether it is compiled for the device; False for host-only code."""


@dataclass(frozen=True)
class CompiledLine:
    """A line as named by a compiler, a line table or a sanitizer."""

    file: str
    """Path with the reported folders, the last of which may distinguish two modules with equal file names."""
    line: int
    """1-based."""
    column: int = 0
    """0-based; 0 where the tool gave none."""


class Reading(Protocol):
    """A language's reading of one submission; expensive parts are read on demand."""

    @property
    def kernels(self) -> Sequence[Kernel]:
        """Return the kernels, in the order of the text."""

    @property
    def launches(self) -> Sequence[Entry]:
        """Return each place where a kernel is launched."""

    @property
    def bindings(self) -> Sequence[Entry]:
        """Return the functions that Python calls to launch kernels; empty where Python launches them itself."""

    @property
    def texts(self) -> Sequence[CodeText]:
        """Return all code in the language's syntax, device code first."""

    @property
    def host_functions(self) -> Sequence[str]:
        """Return the text of each non-Python host function, which may choose launches."""

    @property
    def names(self) -> Sequence[str]:
        """Return the author's names for kernels, functions and modules, which often name the operation."""

    @property
    def called(self) -> frozenset[str]:
        """Return all names that the code calls or mentions, e.g. a library's functions."""

    def place(self, at: CompiledLine) -> Place | None:
        """Return the place of a compiled line in the submission; None for other files."""


@dataclass(frozen=True)
class Wrapping:
    """The program around an answer that is not Python."""

    before: tuple[str, ...]
    after: tuple[str, ...]
    function: str
    """The answer's function that is called."""


@dataclass(frozen=True)
class EmbeddedTexts:
    """How non-Python texts come with an answer: in strings, files, or instead of Python."""

    suffixes: tuple[str, ...]
    """Suffixes of files with such a text."""
    file_signs: tuple[str, ...]
    """Words, one of which each such file contains."""
    arguments: Mapping[str, Callable[[str], bool]]
    """Keyword arguments for such a text, and a test of whether a text fits one."""
    lexer: Callable[[str], str | None]
    """The alias of the pygments lexer for a string's syntax; None for a string that is not code."""
    module: re.Pattern[str]
    """Pattern of an answer that is a whole module in this language."""
    module_title: str
    """Name of such an answer in notes: `C++ extension`."""
    first_words: tuple[str, ...]
    """Pattern for the beginning of a line of code, not of prose, at the top of a module."""
    wrap: Callable[[str, str | None, str], Wrapping | None]
    """Returns the program around a module, from its text, the reference's source if any, and the class's name."""


@dataclass(frozen=True)
class CompilerException:
    """An exception that ended a program, perhaps raised by a compiler in Python."""

    reason: str
    """The exception, its type first."""
    traceback: str = ""
    """Python's traceback; an exception comes after its cause."""
    line: int | None = None
    """Deepest line of the submission in it."""
    log: str = ""
    """Output of the program and its compilers."""


@dataclass(frozen=True)
class Recipe:
    """How a submission is compiled for a device in a guest; the build room and the devices execute it.

    The guest runs the submission, which calls the compilers itself.
    """

    compiles: Callable[[str], bool]
    """Whether a program calls a compiler at all; if it did not at import, it will in a call."""
    when: Literal["asked", "launched"] = "asked"
    """`asked`: where the program calls a compiler: on import, in the constructor or in its first call.
    `launched`: each kernel where it is first launched, so that a call with kernels left out builds it."""
    options: Mapping[str, JsonValue] = field(default_factory=dict)
    """Options of a guest for such a program, beside the device's own."""
    simulated: str = ""
    """A sentence on differences between the simulator and the GPU that it models; empty where there are none."""
    lacks: Callable[[Source, str], str] = lambda _source, _device: ""
    """A clause on the software that this machine lacks for such a program on a device, with advice; empty where it
    lacks none."""
    diagnose: Callable[[CompilerException, Source], Evidence | None] | None = None
    """For a compiler in Python: returns the compiler error of an exception; None for any other exception."""


@dataclass(frozen=True)
class Language:
    """One language; `LANGUAGE` of a module in this folder, or a plug-in's."""

    name: str
    """Name in `Rule.languages`: `cuda`."""
    title: str
    """Name in a review: `CUDA`."""
    fences: frozenset[str]
    """Its names in a fence or the first line of a block, in lower case."""
    kernel_signs: tuple[str, ...]
    """Words that only a text with a kernel has: `__global__`."""
    signs: tuple[str, ...]
    """Further words that show that a program uses it: `load_inline`."""
    place_names: frozenset[str]
    """Values of `Place.language` for its lines, where they are not Python."""
    read: Callable[[Source], Reading | None]
    """Read a submission; None where it has none of this language. Never raises."""
    recipe: Recipe
    embedded: EmbeddedTexts | None = None
    """For a language whose code is not Python."""
