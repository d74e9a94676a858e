"""BLD019: the code is compiled for one GPU model."""

import ast
import re
from collections.abc import Iterator

from grader.records import Context, Edit, Evidence, Finding
from grader.rules.rule import Rule
from grader.source import Source
from grader.source.analysis.diagnostics import confirming
from grader.source.code_edits import delete_statement, drop_flags, fix
from grader.source.python_code import constant_text, python_code

MARKS = ("-arch", "--gpu-architecture", "-gencode", "--generate-code", "arch=compute_", "compute_", "sm_")  # fmt: skip
VARIABLE = "TORCH_CUDA_ARCH_LIST"
MODEL = re.compile(r"\b(?:sm|compute)_(\d+)\b")
DROPPED = 75
"""CUDA 13 compiles for no model before it."""


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Look for architecture flags, and for the variable that chooses architectures."""
    evidence = confirming(context, ("gpu-architecture",))
    for node, message, edits in (*_flags(source, evidence), *_variables(source)):
        yield RULE.finding(
            source.place(node),
            message,
            severity="error" if evidence else "warning",
            evidence=evidence,
            fixes=fix("leave the architecture to torch", edits),
        )


Fixed = tuple[ast.AST, str, list[Edit | None]]
"""Where a GPU model is fixed, what is said of it, and the edits that leave it open."""


def _flags(source: Source, evidence: tuple[Evidence, ...]) -> Iterator[Fixed]:
    for extension in source.extensions:
        value = extension.keywords.get("extra_cuda_cflags")
        flags = [flag for flag in extension.cuda_cflags or () if flag.startswith(MARKS)]
        if flags and value is not None:
            edits = drop_flags(
                source, extension.node, "extra_cuda_cflags", lambda flag: flag.startswith(MARKS)
            )
            yield value, _message(" ".join(flags), evidence), edits


def _message(flags: str, evidence: tuple[Evidence, ...]) -> str:
    if any(item.code == "unsupported-architecture" for item in evidence):
        return f"{flags}: this nvcc does not compile for that GPU model"
    older = [number for number in MODEL.findall(flags) if int(number) < DROPPED]
    gone = f"; CUDA 13 and later refuse sm_{older[0]}" if older else ""
    return f"{flags} compiles for that GPU model only; on another one the kernels may not start (no kernel image is available){gone}"


def _variables(source: Source) -> Iterator[Fixed]:
    code = python_code(source)
    for node in code.of(ast.Assign) if code is not None else ():
        target = node.targets[0]
        if isinstance(target, ast.Subscript) and constant_text(target.slice) == VARIABLE:
            said = f"{VARIABLE} = {source.text(node.value)} fixes the GPU models that the kernels are compiled for; on another one they may not start"
            yield node, said, [delete_statement(source, node)]


HEAD = "import os\nimport torch\nfrom torch.utils.cpp_extension import load_inline\n"
RULE = Rule(
    code="BLD019",
    name="hard-coded-gpu-architecture",
    severity="warning",
    summary='The code is compiled for one GPU model only and may not start on another ("no kernel '
    'image is available").',
    why="Without a flag torch compiles for the card that is there. A fixed architecture makes the same file fail on the next machine.",
    bad=(
        HEAD + 'ext = load_inline(name="e", cpp_sources="", cuda_sources="", functions=["f"],\n'
        '                  extra_cuda_cflags=["-O3", "-arch=sm_90"])\n'
    ),
    good=HEAD + 'os.environ["MAX_JOBS"] = "4"\next = load_inline(name="e", cpp_sources="", '
    'cuda_sources="",\n    functions=["f"], extra_cuda_cflags=["-O3", "--use_fast_math"])\n',
    detects=("text", "build"),
    languages=("cuda",),
    guards="A warning: on the named card it works. An error only with the compiler's or the driver's own complaint.",
    fix="Takes the flags or the assignment out.",
    check=check,
    predicts="elsewhere",
)
