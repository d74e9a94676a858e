"""BLD019: the build is fixed to one GPU model, to another layout of strings than torch's own, or to a link that nobody makes."""

import ast
import re
from collections.abc import Iterator

from grader.rules import Context, Edit, Evidence, Finding, Source, fix, rule_of
from grader.source import Extension
from grader.source.analysis.diagnostics import confirming_errors
from grader.source.code_edits import delete_statement, drop_flags
from grader.source.python_code import constant_text

MARKS = ("-arch", "--gpu-architecture", "-gencode", "--generate-code", "arch=compute_", "compute_", "sm_")  # fmt: skip
LAYOUT = "_GLIBCXX_USE_CXX11_ABI="
RELOCATABLE = ("-rdc", "--relocatable-device-code")
REGISTERED = "__cudaRegisterLinkedBinary"
"""What a device link would define."""
VARIABLE = "TORCH_CUDA_ARCH_LIST"
MODEL = re.compile(r"\b(?:sm|compute)_(\d+)\b")
DROPPED = 75
"""CUDA 13 compiles for no model before it."""
OF_STRINGS = ("basic_string", "RKSs")
"""How undefined symbols name a `std::string`."""
Fixed = tuple[ast.AST, str, list[Edit | None]]
"""Where something is fixed, what is said of it, and the edits that leave it open."""


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Look for flags, and for the variable that chooses architectures."""
    refused = confirming_errors(context, ("gpu-architecture",))
    missed = confirming_errors(context, ("undefined-symbol",))
    unlinked = tuple(one for one in missed if any(word in one.said for word in OF_STRINGS))
    found = [(refused, one) for one in (*_models(source, refused), *_variables(source))]
    found += [(unlinked, one) for one in _layouts(source)]
    unregistered = tuple(one for one in missed if REGISTERED in one.said)
    found += [(unregistered, one) for one in _relocatable(source)]
    for evidence, (node, message, edits) in found:
        yield RULE.finding(
            source.place(node),
            message,
            severity="error" if evidence else "warning",
            evidence=evidence,
            fixes=fix("leave it to torch", edits),
        )


def _given(
    source: Source, extension: Extension, keyword: str, marks: tuple[str, ...]
) -> Iterator[tuple[ast.expr, str, list[Edit | None]]]:
    """Yield a list of flags with those that hold such marks, and the edits that drop them."""
    flags = extension.cflags if keyword == "extra_cflags" else extension.cuda_cflags
    marked = [flag for flag in flags or () if flag.removeprefix("-D").startswith(marks)]
    if marked and keyword in extension.keywords:
        edits = drop_flags(source, extension.node, keyword, marked.__contains__)
        yield extension.keywords[keyword], " ".join(marked), edits


def _models(source: Source, evidence: tuple[Evidence, ...]) -> Iterator[Fixed]:
    for extension in source.extensions:
        for value, flags, edits in _given(source, extension, "extra_cuda_cflags", MARKS):
            said = f"{flags} compiles for that GPU model only; on another one the kernels may not start (no kernel image is available)"
            older = [number for number in MODEL.findall(flags) if int(number) < DROPPED]
            said += f"; CUDA 13 and later refuse sm_{older[0]}" if older else ""
            if any(item.code == "unsupported-architecture" for item in evidence):
                said = f"{flags}: this nvcc does not compile for that GPU model"
            yield value, said, edits


def _layouts(source: Source) -> Iterator[Fixed]:
    for extension in source.extensions:
        for keyword in ("extra_cflags", "extra_cuda_cflags"):
            for value, flags, edits in _given(source, extension, keyword, (LAYOUT,)):
                said = (
                    f"{flags} forces the layout of C++ strings; where torch was built with the "
                    "other one, the module fails to load with an undefined symbol"
                )
                yield value, said, edits


def _relocatable(source: Source) -> Iterator[Fixed]:
    for extension in source.extensions:
        for value, flags, edits in _given(source, extension, "extra_cuda_cflags", RELOCATABLE):
            said = f"{flags} asks for a link of the device code, which load_inline does not make: the module can't be loaded"
            yield value, said, edits


def _variables(source: Source) -> Iterator[Fixed]:
    code = source.module
    for node in code.of(ast.Assign) if code is not None else ():
        target = node.targets[0]
        if isinstance(target, ast.Subscript) and constant_text(target.slice) == VARIABLE:
            said = f"{VARIABLE} = {source.text(node.value)} fixes the GPU models that the kernels are compiled for; on another one they may not start"
            yield node, said, [delete_statement(source, node)]


RULE = rule_of(__file__, check, predicts="elsewhere")
