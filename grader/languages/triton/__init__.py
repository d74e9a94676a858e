"""Triton: kernels are Python functions under `@triton.jit`, compiled where they are launched."""

from grader.languages.language import Language, Recipe
from grader.languages.triton.installed import lacks
from grader.languages.triton.reading import read
from grader.languages.triton.refused import diagnose

LANGUAGE = Language(
    name="triton",
    title="Triton",
    fences=frozenset({"triton"}),
    kernel_signs=("@triton.jit", "triton.jit("),
    signs=("import triton", "from triton"),
    place_names=frozenset(),
    read=read,
    recipe=Recipe(
        compiles=lambda _code: False,
        when="launched",
        options={"triton": True},
        lacks=lacks,
        diagnose=diagnose,
    ),
)
