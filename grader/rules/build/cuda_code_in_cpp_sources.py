"""BLD005: CUDA syntax reaches the C++ compiler."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tree_sitter import Node

from grader.records import Context, Edit, Finding, Fix
from grader.rules.rule import Rule
from grader.source import Extension, Source, Unit
from grader.source.analysis.diagnostics import confirming
from grader.source.code_edits import fix, prototype, quoted, replace
from grader.source.cuda_code import around, cuda_code, text

KINDS = ("undefined-identifier", "syntax")
VARIABLES = ("threadIdx", "blockIdx", "blockDim", "gridDim")


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Look for kernels, launches and thread indices in what reaches cpp_sources."""
    for extension in source.extensions:
        if extension.call != "load_inline":
            continue
        for unit in extension.cpp:
            found = sorted(_cuda_syntax(unit), key=lambda node: node.start_byte)
            if found:
                yield _finding(source, extension, unit, found[0], context)
                break


def _finding(
    source: Source, extension: Extension, unit: Unit, node: Node, context: Context
) -> Finding:
    evidence = confirming(context, KINDS, ("__global__", "__device__", "threadIdx", "blockIdx"))
    what = "a kernel launch" if node.type == "kernel_call_syntax" else text(node).split("(")[0]
    return RULE.finding(
        unit.place(node),
        f"{what} stands in cpp_sources: that text is compiled by the plain C++ compiler, which "
        "does not know CUDA; kernels and their launches belong in cuda_sources",
        evidence=evidence,
        fixes=_fixes(source, extension, unit),
    )


def _cuda_syntax(unit: Unit) -> Iterator[Node]:
    code = cuda_code(unit)
    for function in unit.functions:
        if function.runs != "host" and not _for_nvcc_only(function.node):
            yield function.node.children[0]
    yield from (node for node in code.of("kernel_call_syntax") if not _for_nvcc_only(node))
    for name in VARIABLES:
        yield from (node for node in code.names.get(name, ()) if not _for_nvcc_only(node))


def _for_nvcc_only(node: Node) -> bool:
    return any("preproc_if" in outer.type for outer in around(node))


def _fixes(source: Source, extension: Extension, unit: Unit) -> tuple[Fix, ...]:
    """WorkerProcess the text to cuda_sources, and leave prototypes behind."""
    cpp = extension.keywords.get("cpp_sources")
    if cpp is None or len(extension.cpp) != 1:
        return ()
    exported = extension.functions or ()
    prototypes = [prototype(f) for f in unit.functions if f.runs == "host" and f.name in exported]
    if exported and len({*exported} - {f.name for f in unit.functions}) > 0:
        return ()
    written = source.text(cpp)
    cuda = extension.keywords.get("cuda_sources")
    edits: list[Edit | None] = [replace(source, cpp, quoted("\n".join(prototypes)))]
    if any(unit.text == other.text for other in extension.cuda):
        pass
    elif cuda is None:
        end = source.span(cpp)[1]
        edits = [
            Edit(
                start=source.span(cpp)[0],
                end=end,
                text=f"{quoted(chr(10).join(prototypes))}, cuda_sources={written}",
            )
        ]
        if not any(word.arg == "cpp_sources" for word in extension.node.keywords):
            return ()
    elif _empty(cuda, extension):
        edits.append(replace(source, cuda, written))
    elif len(extension.cuda) == 1 and not isinstance(cuda, ast.List | ast.Tuple):
        kept = source.text(cuda)
        edits.append(replace(source, cuda, f"[{written}, {kept}]"))
    else:
        return ()
    return fix("hand this text to cuda_sources and leave prototypes in cpp_sources", edits)


def _empty(cuda: ast.expr, extension: Extension) -> bool:
    if isinstance(cuda, ast.List | ast.Tuple):
        return not cuda.elts
    return not any(unit.text.strip() for unit in extension.cuda)


RULE = Rule(
    code="BLD005",
    name="cuda-code-in-cpp-sources",
    severity="error",
    summary="CUDA syntax is handed to the plain C++ compiler, which does not understand it.",
    why="load_inline compiles cpp_sources with the host compiler and cuda_sources with nvcc. A "
    "kernel in the wrong one stops the build at its first line.",
    bad='''
import torch
from torch.utils.cpp_extension import load_inline
text = """
#include <torch/extension.h>
__global__ void k(float* p) { p[threadIdx.x] = 1.0f; }
torch::Tensor f(torch::Tensor x) { k<<<1, 32>>>(x.data_ptr<float>()); return x; }
"""
ext = load_inline(name="e", cpp_sources=[text], cuda_sources=[], functions=["f"])
''',
    good='''
import torch
from torch.utils.cpp_extension import load_inline
decl = """
// the __global__ kernel uses threadIdx and is launched with <<<1, 32>>>
#ifdef __CUDACC__
__device__ float twice(float a) { return 2 * a; }
#endif
torch::Tensor f(torch::Tensor x);
"""
text = "__global__ void k() {} torch::Tensor f(torch::Tensor x) { return x; }"
ext = load_inline(name="e", cpp_sources=decl, cuda_sources=text, functions=["f"])
''',
    detects=("text", "build"),
    languages=("cuda",),
    guards="Comments, strings and code under preprocessor conditions do not count.",
    fix="Moves the text to cuda_sources and leaves the prototypes of the exported functions.",
    check=check,
)
