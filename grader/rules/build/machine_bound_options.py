"""BLD019: the build is fixed to one GPU model, to another string ABI than torch's, or to a device link that is never made."""

import ast
import re
from collections.abc import Iterator

from grader.rules import Context, Edit, Evidence, Finding, Source, fix, rule_of
from grader.source.analysis.diagnostics import confirming_errors
from grader.source.code_edits import delete_statement, drop_flags
from grader.source.python_code import constant_text

FLAGS = (
    (
        ("-arch", "--gpu-architecture", "-gencode", "--generate-code", "arch=compute_", "compute_", "sm_"),
        "gpu-architecture",
        ("",),
        "{} compiles for that GPU model only; on another one the kernels may not start (no kernel image is available)",
    ),
    (
        ("_GLIBCXX_USE_CXX11_ABI=",),
        "undefined-symbol",
        ("basic_string", "RKSs"),
        "{} forces the layout of C++ strings; where torch was built with the other one, the module fails to load with an undefined symbol",
    ),
    (
        ("-rdc", "--relocatable-device-code"),
        "undefined-symbol",
        ("__cudaRegisterLinkedBinary",),
        "{} asks for a link of the device code, which load_inline does not make: the module can't be loaded",
    ),
)  # fmt: skip
"""Prefix of a flag, kind and words of the error that shows it to be wrong, and sentence."""
VARIABLE = "TORCH_CUDA_ARCH_LIST"
MODEL = re.compile(r"\b(?:sm|compute)_(\d+)\b")
DROPPED = 75
"""First GPU model of CUDA 13."""
Fixed = tuple[ast.AST, str, list[Edit | None]]
"""Place of a fixed option, sentence, and the edits that remove it."""


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Look for flags, and for the variable that chooses architectures."""
    for marks, kind, words, said in FLAGS:
        errors = confirming_errors(context, (kind,))
        shown = tuple(one for one in errors if any(word in one.said for word in words))
        for node, flags, edits in _given_flags(source, marks):
            yield _finding(source, node, said.format(flags) + _older(flags), edits, shown)
    refused = confirming_errors(context, ("gpu-architecture",))
    for node, said, edits in _variables(source):
        yield _finding(source, node, said, edits, refused)


def _finding(
    source: Source, node: ast.AST, said: str, edits: list[Edit | None], shown: tuple[Evidence, ...]
) -> Finding:
    return RULE.finding(
        source.place(node),
        said,
        severity="error" if shown else "warning",
        evidence=shown,
        fixes=fix("leave it to torch", edits),
    )


def _given_flags(source: Source, marks: tuple[str, ...]) -> Iterator[Fixed]:
    """Yield the lists of flags with such a prefix, and the edits that remove them."""
    for one in source.extensions:
        for keyword, flags in (
            ("extra_cflags", one.cflags),
            ("extra_cuda_cflags", one.cuda_cflags),
        ):
            marked = [flag for flag in flags or () if flag.removeprefix("-D").startswith(marks)]
            if marked and keyword in one.keywords:
                edits = drop_flags(source, one.node, keyword, marked.__contains__)
                yield one.keywords[keyword], " ".join(marked), edits


def _older(flags: str) -> str:
    older = [number for number in MODEL.findall(flags) if int(number) < DROPPED]
    return f"; CUDA 13 and later refuse sm_{older[0]}" if older else ""


def _variables(source: Source) -> Iterator[Fixed]:
    for node in source.module.of(ast.Assign):
        target = node.targets[0]
        if isinstance(target, ast.Subscript) and constant_text(target.slice) == VARIABLE:
            said = f"{VARIABLE} = {source.text(node.value)} fixes the GPU models that the kernels are compiled for; on another one they may not start"
            yield node, said, [delete_statement(source, node)]


RULE = rule_of(__file__, check, predicts="elsewhere")
