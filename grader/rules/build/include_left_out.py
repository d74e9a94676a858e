"""BLD020: a header is not included by name, though something else may bring it in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grader.records import Context
from grader.rules.rule import Rule
from grader.source.analysis.diagnostics import confirming
from grader.source.code_edits import add_include, fix
from grader.source.cuda_code import cuda_code

if TYPE_CHECKING:
    from collections.abc import Iterator

    from grader.records import Finding
    from grader.source import Extension, Source, Unit

WANTED = (
    (("torch", "at"), ("torch/extension.h", "torch/types.h", "torch/all.h", "torch/torch.h",
                       "ATen/ATen.h", "torch/script.h")),
    (("FLT_MAX", "FLT_MIN", "FLT_EPSILON", "DBL_MAX"), ("cfloat", "float.h", "climits", "limits")),
    (("INT_MAX", "INT_MIN", "UINT_MAX"), ("climits", "limits.h", "cfloat")),
)  # fmt: skip


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Compare well-known names with the headers included."""
    for extension in source.extensions:
        for unit in extension.cuda:
            if unit.resolved and unit.text.strip():
                yield from _unit(extension, unit, context)


def _unit(extension: Extension, unit: Unit, context: Context) -> Iterator[Finding]:
    code = cuda_code(unit)
    included = {header for each in extension.cuda for header in each.includes}
    for names, headers in WANTED:
        used = [node for name in names for node in code.names.get(name, ())[:1]]
        if not used or included.intersection(headers) or names[0] in unit.macros:
            continue
        name = used[0].text.decode("utf-8", "replace") if used[0].text else names[0]
        evidence = confirming(context, ("undefined-identifier", "no-member"), (name,))
        needed = bool(evidence) or (not extension.preluded and headers[0].startswith("torch"))
        yield RULE.finding(
            unit.place(used[0]),
            f"{name} is used without including <{headers[0]}>"
            + (", so the build stops here" if needed else "; here another header brings it in"),
            severity="error" if needed else "note",
            confidence="proven" if evidence else "likely",
            evidence=evidence,
            fixes=fix(f"include {headers[0]}", [add_include(unit, headers[0])], certain=True),
            folded=not needed,
        )


RULE = Rule(
    code="BLD020",
    name="include-left-out",
    severity="note",
    summary="A header is not included by name; with load_inline that usually still builds.",
    why="load_inline puts torch/types.h, cuda.h and cuda_runtime.h before the CUDA text, and those "
    "bring in much more. Naming what one uses keeps the text working elsewhere.",
    bad="""
#include <cuda_runtime.h>
__device__ float start() { return -FLT_MAX; }
torch::Tensor f(torch::Tensor x) {
    return x;
}
""",
    good="""
#include <torch/extension.h>
#include <cfloat>
__device__ float start() { return -FLT_MAX; }
torch::Tensor f(torch::Tensor x) {
    return x;
}
""",
    detects=("text", "build"),
    languages=("cuda",),
    guards="An error only with no_implicit_headers=True or with the compiler's complaint.",
    fix="Adds the include.",
    check=check,
    predicts="elsewhere",
)
