"""Triton: kernels are Python functions under `@triton.jit`, compiled where they are launched."""

from grader.languages.language import Language, Recipe
from grader.languages.triton.installed import lacks
from grader.languages.triton.reading import read
from grader.languages.triton.refused import diagnose

SIMULATED = (
    "on the simulator Triton compiles for sm_89: what it uses only from sm_90 on (wgmma, the tensor memory accelerator, "
    "clusters of blocks) is not simulated, and registers and shared memory are those of sm_89"
)
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
        simulated=SIMULATED,
        lacks=lacks,
        diagnose=diagnose,
    ),
)
