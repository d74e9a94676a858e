"""The registry of languages: the folders beside this file, and installed plug-ins."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, lru_cache
from types import MappingProxyType

from grader.languages.language import (
    CompiledLine,
    CompilerException,
    EmbeddedTexts,
    Language,
    Reading,
    Recipe,
)
from grader.plugins import members
from grader.records import Evidence, JsonValue, Place
from grader.source import Source


@cache
def languages() -> Mapping[str, Language]:
    """Return every language by its name, in alphabetical order.

    A folder's is its `LANGUAGE`. Entry points of the group `kernel_grader.languages` name a `Language`; one
    that can't be loaded is logged and left out. Raises ValueError when two have one name.
    """
    found: dict[str, Language] = {}
    for one in members("languages", "LANGUAGE", Language):
        if found.setdefault(one.name, one) is not one:
            msg = f"two languages are called {one.name!r}"
            raise ValueError(msg)
    return MappingProxyType(dict(sorted(found.items())))


@lru_cache(maxsize=64)
def readings(source: Source) -> Mapping[str, Reading]:
    """Return each language's reading of a submission, by name; without languages that find none of it."""
    read = ((name, one.read(source)) for name, one in languages().items())
    return MappingProxyType({name: found for name, found in read if found is not None})


def read(source: Source) -> tuple[Reading, ...]:
    """Return the readings of a submission's languages."""
    return tuple(readings(source).values())


def embedded_texts() -> tuple[EmbeddedTexts, ...]:
    """Return how code that is not Python comes with answers, in each language that has such code."""
    return tuple(one.embedded for one in languages().values() if one.embedded is not None)


def asks_a_compiler(code: str) -> bool:
    """Whether a program asks for a compiler of any language."""
    return any(one.recipe.compiles(code) for one in languages().values())


def recipes(source: Source) -> tuple[Recipe, ...]:
    """Return the recipes of a submission's languages."""
    return tuple(languages()[name].recipe for name in readings(source))


def guest_options(source: Source) -> dict[str, JsonValue]:
    """Return a guest's options for a submission's languages."""
    return {key: value for recipe in recipes(source) for key, value in recipe.options.items()}


def diagnose(source: Source, raised: CompilerException) -> Evidence | None:
    """Return the error of a compiler that raises in Python; None where there is none."""
    said = (recipe.diagnose(raised, source) for recipe in recipes(source) if recipe.diagnose)
    return next((evidence for evidence in said if evidence is not None), None)


def simulated_differently(source: Source) -> tuple[str, ...]:
    """Return sentences on differences between the simulator and the modelled GPU for a submission."""
    return tuple(recipe.simulated for recipe in recipes(source) if recipe.simulated)


def say_what_lacks(source: Source, device: str) -> str:
    """Return the software that this machine lacks for a submission on a device, with advice; empty where it lacks none."""
    said = (recipe.lacks(source, device) for recipe in recipes(source))
    return next(filter(None, said), "")


def compiles_when_launched(source: Source) -> bool:
    """Whether some of its kernels are compiled at their first launch."""
    return any(recipe.when == "launched" for recipe in recipes(source))


def names_in(source: Source) -> frozenset[str]:
    """Return the names of the languages of a submission's kernels and compiler calls."""
    return frozenset(readings(source))


def place_compiled_line(source: Source, file: str, line: int, column: int = 0) -> Place | None:
    """Return the submission's place of a line named by a tool; None for a line of another file."""
    if not file or line <= 0:
        return None
    at = CompiledLine(file, line, column)
    places = (reading.place(at) for reading in read(source))
    return next((place for place in places if place is not None), None)
