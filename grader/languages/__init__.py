"""What a submission's kernels are written in: one folder a language, asked through a registry."""

from grader.languages.language import (
    CodeText,
    CompiledLine,
    CompilerException,
    EmbeddedTexts,
    Entry,
    Kernel,
    Language,
    Reading,
    Recipe,
    Wrapping,
)
from grader.languages.registry import (
    asks_a_compiler,
    compiles_when_launched,
    diagnose,
    embedded_texts,
    guest_options,
    languages,
    names_in,
    place_compiled_line,
    read,
    readings,
)

__all__ = [
    "CodeText",
    "CompiledLine",
    "CompilerException",
    "EmbeddedTexts",
    "Entry",
    "Kernel",
    "Language",
    "Reading",
    "Recipe",
    "Wrapping",
    "asks_a_compiler",
    "compiles_when_launched",
    "diagnose",
    "embedded_texts",
    "guest_options",
    "languages",
    "names_in",
    "place_compiled_line",
    "read",
    "readings",
]
