"""What a language is to the rest of the package: how its text is recognised, read, built and pointed at."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from grader.records import Evidence, JsonValue, Place
from grader.source import Source


@dataclass(frozen=True)
class Kernel:
    """A kernel as the submission writes it."""

    name: str
    place: Place
    """Of its definition: in a string for CUDA C++, of the Python function for a language in Python."""


@dataclass(frozen=True)
class Entry:
    """A place at which a kernel is started, or a function through which Python reaches one."""

    name: str
    """The kernel's, as it is written there; for a binding what Python calls it."""
    place: Place


@dataclass(frozen=True)
class CodeText:
    """A stretch of the submission in the language's own syntax: a string for a compiler, a kernel's function."""

    language: str
    """What `Place.language` says of its lines."""
    text: str
    """As its compiler gets it, as far as that is known."""
    plain: str
    """Without comments."""
    first: Place
    """Its first line in the submission."""
    last: Place
    has_kernels: bool
    """Whether it is compiled for the device; False for what only the host compiles."""


@dataclass(frozen=True)
class CompiledLine:
    """A line as a compiler, a line table or a sanitizer names it."""

    file: str
    """With the folders that were said: the last one may tell between two modules with files of one name."""
    line: int
    """1-based."""
    column: int = 0
    """0-based; 0 where the tool gave none."""


class Reading(Protocol):
    """What a language reads in one submission; what costs time is read when it is asked for."""

    @property
    def kernels(self) -> Sequence[Kernel]:
        """Return the kernels, in the order of the text."""

    @property
    def launches(self) -> Sequence[Entry]:
        """Return each place at which a kernel is started."""

    @property
    def bindings(self) -> Sequence[Entry]:
        """Return what Python calls to get there; empty where Python starts kernels itself."""

    @property
    def texts(self) -> Sequence[CodeText]:
        """Return all code in the language's syntax, what is compiled for the device first."""

    @property
    def host_functions(self) -> Sequence[str]:
        """Return the text of each function beside Python that runs on the host and may choose what is launched."""

    @property
    def names(self) -> Sequence[str]:
        """Return what the author calls kernels, functions and modules: they often name the operation."""

    @property
    def called(self) -> frozenset[str]:
        """Return the names of all that the code calls or mentions, e.g. a library's functions."""

    def place(self, at: CompiledLine) -> Place | None:
        """Return where a compiled line stands in the submission; None for what is not the submission's."""


@dataclass(frozen=True)
class Wrapping:
    """What is put around an answer that is not Python, so that it becomes a program."""

    before: tuple[str, ...]
    after: tuple[str, ...]
    function: str
    """What of the answer is called."""


@dataclass(frozen=True)
class EmbeddedTexts:
    """How texts that are no Python come with an answer: in strings, files, or instead of Python."""

    suffixes: tuple[str, ...]
    """Of files in which such a text may be given."""
    file_signs: tuple[str, ...]
    """Words of which each such file has one."""
    arguments: Mapping[str, Callable[[str], bool]]
    """Keyword arguments that take such a text, and whether a text may be meant for one."""
    lexer: Callable[[str], str | None]
    """Which of pygments' lexers marks a string's syntax, by its alias; None for a string that is no code."""
    module: re.Pattern[str]
    """What an answer has that is a whole module in this language."""
    module_title: str
    """What a note calls such an answer: `C++ extension`."""
    first_words: tuple[str, ...]
    """How a line of code begins at the top of a module, and one of prose does not."""
    wrap: Callable[[str, str | None, str], Wrapping | None]
    """From a module's text, the reference's source if any, and the name of the class, to the program around it."""


@dataclass(frozen=True)
class CompilerException:
    """An exception that ended a program, which may be a compiler's that raises in Python."""

    reason: str
    """The exception, its type first."""
    traceback: str = ""
    """As Python prints it; an exception that led to another comes before it."""
    line: int | None = None
    """Deepest line of the submission that it passed."""
    log: str = ""
    """What the program and its compilers printed."""


@dataclass(frozen=True)
class Recipe:
    """How a guest makes of a submission what a device runs; the build room and the devices carry it out.

    A guest runs the submission, and compilers find it there: they are called by the submission itself.
    """

    compiles: Callable[[str], bool]
    """Whether a program asks for a compiler at all: if nothing was compiled by then, it will be in a call."""
    when: Literal["asked", "launched"] = "asked"
    """`asked`: where the program calls a compiler: on import, in the constructor or in its first call.
    `launched`: each kernel where it is first launched, so that a call with kernels left out builds it."""
    options: Mapping[str, JsonValue] = field(default_factory=dict)
    """What a guest is told of such a program, beside the device's own options."""
    simulated: str = ""
    """What is not as on the GPU that a simulator stands for, as a sentence; empty where nothing is."""
    lacks: Callable[[Source, str], str] = lambda _source, _device: ""
    """What this machine lacks for such a program on a device, and what helps, as a clause; empty where it lacks nothing."""
    diagnose: Callable[[CompilerException, Source], Evidence | None] | None = None
    """For a compiler that raises in Python: from an exception to what was refused; None for an exception that is
    not the compiler's."""


@dataclass(frozen=True)
class Language:
    """One language; `LANGUAGE` of a module in this folder, or a plug-in's."""

    name: str
    """As `Rule.languages` says it: `cuda`."""
    title: str
    """As a review says it: `CUDA`."""
    fences: frozenset[str]
    """What a fence or the first line of a block calls it, in small letters."""
    kernel_signs: tuple[str, ...]
    """Words that only a text with a kernel has: `__global__`."""
    signs: tuple[str, ...]
    """Further words that show that a program uses it: `load_inline`."""
    place_names: frozenset[str]
    """What `Place.language` may hold for its lines, where they are no Python."""
    read: Callable[[Source], Reading | None]
    """Read a submission; None where nothing in it is in this language. Never raises."""
    recipe: Recipe
    embedded: EmbeddedTexts | None = None
    """For a language whose code is no Python."""
