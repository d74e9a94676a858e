"""BLD005: CUDA syntax reaches the C++ compiler."""

import ast
from collections.abc import Iterator

from tree_sitter import Node

from grader.rules import Context, Finding, Fix, Source, Unit, fix, rule_of
from grader.source import Extension
from grader.source.analysis.diagnostics import confirming_errors
from grader.source.code_edits import prototype, quote_text, replace
from grader.source.nodes import around, text

KINDS = ("undefined-identifier", "syntax")
VARIABLES = ("threadIdx", "blockIdx", "blockDim", "gridDim")


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Look for kernels, launches and thread indices in what reaches cpp_sources."""
    for extension in source.extensions:
        for unit in extension.cpp if extension.call == "load_inline" else ():
            node = min(_cuda_syntax(unit), key=lambda one: one.start_byte, default=None)
            if node is not None:
                what = "a kernel launch" if node.type == "kernel_call_syntax" else text(node).split("(")[0]  # fmt: skip
                yield RULE.finding(
                    unit.place(node),
                    f"{what} stands in cpp_sources: that text is compiled by the plain C++ compiler, which "
                    "does not know CUDA; kernels and their launches belong in cuda_sources",
                    evidence=confirming_errors(
                        context, KINDS, ("__global__", "__device__", *VARIABLES)
                    ),
                    fixes=_fixes(source, extension, unit),
                )
                break


def _cuda_syntax(unit: Unit) -> Iterator[Node]:
    """Yield syntax that only nvcc accepts, outside preprocessor conditions."""
    found = [f.node.children[0] for f in unit.functions if f.runs != "host"]
    found += unit.nodes("kernel_call_syntax")
    found += [node for name in VARIABLES for node in unit.names.get(name, ())]
    for node in found:
        if not any("preproc_if" in outer.type for outer in around(node)):
            yield node


def _fixes(source: Source, extension: Extension, unit: Unit) -> tuple[Fix, ...]:
    """Move the text to cuda_sources, and keep the prototypes of exported functions."""
    cpp, cuda = (extension.keywords.get(f"{name}_sources") for name in ("cpp", "cuda"))
    exported, own = extension.functions or (), {f.name for f in unit.functions}
    if cpp is None or len(extension.cpp) != 1 or not set(exported) <= own:
        return ()
    hosts = [f for f in unit.functions if f.runs == "host" and f.name in exported]
    left = quote_text("\n".join(map(prototype, hosts)))
    written, edits = source.text(cpp), [replace(source, cpp, left)]
    if not any(unit.text == other.text for other in extension.cuda):
        several = isinstance(cuda, ast.List | ast.Tuple)
        if cuda is None:
            if not any(word.arg == "cpp_sources" for word in extension.node.keywords):
                return ()
            edits = [replace(source, cpp, f"{left}, cuda_sources={written}")]
        elif not any(one.text.strip() for one in extension.cuda):
            edits.append(replace(source, cuda, written))
        elif several or len(extension.cuda) != 1:
            return ()
        else:
            edits.append(replace(source, cuda, f"[{written}, {source.text(cuda)}]"))
    return fix("hand this text to cuda_sources and leave prototypes in cpp_sources", edits)


RULE = rule_of(__file__, check)
