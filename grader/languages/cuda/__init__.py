"""CUDA C++, compiled by torch's `load_inline` and its relatives."""

from grader.languages.cuda.bare_module import FIRST_WORDS, MODULE, program_around
from grader.languages.cuda.reading import read
from grader.languages.cuda.recognition import (
    ARGUMENTS,
    FILE_SIGNS,
    KERNEL,
    SUFFIXES,
    asks_a_compiler,
    lexer,
)
from grader.languages.language import EmbeddedTexts, Language, Recipe

LANGUAGE = Language(
    name="cuda",
    title="CUDA",
    fences=frozenset({"cuda"}),
    kernel_signs=(KERNEL,),
    signs=("load_inline",),
    place_names=frozenset({"cuda", "cpp"}),
    read=read,
    recipe=Recipe(compiles=asks_a_compiler),
    embedded=EmbeddedTexts(
        suffixes=SUFFIXES,
        file_signs=FILE_SIGNS,
        arguments=ARGUMENTS,
        lexer=lexer,
        module=MODULE,
        module_title="C++ extension",
        first_words=FIRST_WORDS,
        wrap=program_around,
    ),
)
