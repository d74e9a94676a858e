"""Every language there is: the folders beside this file, and those of installed plug-ins."""

from __future__ import annotations

import importlib
import logging
import pkgutil
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from importlib.metadata import entry_points
from types import MappingProxyType
from typing import TYPE_CHECKING

import grader.languages
from grader.languages.language import CompiledLine, EmbeddedTexts, Language, Reading

if TYPE_CHECKING:
    from grader.records import Place
    from grader.source import Source

GROUP = "kernel_grader.languages"
logger = logging.getLogger(__name__)


@cache
def languages() -> Mapping[str, Language]:
    """Return every language by its name, in alphabetical order.

    A folder's is its `LANGUAGE`. Entry points of the group `kernel_grader.languages` name a `Language`; one
    that can't be loaded is logged and left out. Raises ValueError when two have one name.
    """
    found: dict[str, Language] = {}
    for one in (*_own_languages(), *_plugin_languages()):
        if found.setdefault(one.name, one) is not one:
            msg = f"two languages are called {one.name!r}"
            raise ValueError(msg)
    return MappingProxyType(dict(sorted(found.items())))


@lru_cache(maxsize=64)
def readings(source: Source) -> Mapping[str, Reading]:
    """Return what each language reads in a submission, by name; empty where none finds any of it."""
    read = ((name, one.read(source)) for name, one in languages().items())
    return MappingProxyType({name: found for name, found in read if found is not None})


def read(source: Source) -> tuple[Reading, ...]:
    """Return what the languages of a submission read in it."""
    return tuple(readings(source).values())


def embedded_texts() -> tuple[EmbeddedTexts, ...]:
    """Return how code that is no Python comes with answers, in each language that has such code."""
    return tuple(one.embedded for one in languages().values() if one.embedded is not None)


def asks_a_compiler(code: str) -> bool:
    """Whether a program asks for a compiler of any language."""
    return any(one.recipe.compiles(code) for one in languages().values())


def names_in(source: Source) -> frozenset[str]:
    """Return the names of the languages that a submission has kernels in, or asks a compiler for."""
    return frozenset(readings(source))


def place_compiled_line(source: Source, file: str, line: int, column: int = 0) -> Place | None:
    """Return where a line that a tool names stands in the submission; None where it is not the submission's."""
    if not file or line <= 0:
        return None
    at = CompiledLine(file, line, column)
    places = (reading.place(at) for reading in read(source))
    return next((place for place in places if place is not None), None)


def _own_languages() -> Iterator[Language]:
    for info in pkgutil.iter_modules(grader.languages.__path__):
        if info.ispkg:
            yield importlib.import_module(f"{grader.languages.__name__}.{info.name}").LANGUAGE


def _plugin_languages() -> Iterator[Language]:
    for entry in entry_points(group=GROUP):
        try:
            loaded = entry.load()
        except Exception:
            logger.exception("the language plug-in %s can't be loaded", entry.name)
            continue
        if isinstance(loaded, Language):
            yield loaded
        else:
            logger.error("the language plug-in %s names no Language: %s", entry.name, entry.value)
