"""BLD008: names that PyTorch has removed or deprecated."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grader.records import Context
from grader.rules.rule import Rule
from grader.source.analysis.diagnostics import confirming
from grader.source.code_edits import delete_lines_of, fix, replace_node
from grader.source.cuda_code import cuda_code, read_call, text, units

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

    from grader.records import Finding
    from grader.source import Source, Unit

REMOVED = {
    "AT_CHECK": "TORCH_CHECK",
    "THCudaCheck": "C10_CUDA_CHECK",
    "THCCeilDiv": "at::ceil_div",
    "THCState": "",
    "THCudaMalloc": "",
    "THCState_getCurrentStream": "",
}
DEPRECATED = {"AT_ASSERTM": "TORCH_CHECK", "AT_ASSERT": "TORCH_INTERNAL_ASSERT"}
STILL_THERE = {"THC/THCAtomics.cuh", "THC/THCDeviceUtils.cuh"}
KINDS = ("undefined-identifier", "missing-header", "no-member", "syntax", "no-overload")


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Look for removed names, headers and methods."""
    for unit in units(source):
        yield from _names(unit, context)
        yield from _headers(unit, context)
        yield from _methods(unit)


def _names(unit: Unit, context: Context) -> Iterator[Finding]:
    code = cuda_code(unit)
    own = {
        text(node.child_by_field_name("name"))
        for node in code.of("preproc_def", "preproc_function_def")
    }
    for name, new in (*REMOVED.items(), *DEPRECATED.items()):
        uses = code.names.get(name, ())
        if not uses or name in own:
            continue
        gone = name in REMOVED
        evidence = confirming(context, KINDS, (name,)) if gone else ()
        yield RULE.finding(
            unit.place(uses[0]),
            f"{name} was removed from PyTorch, so the build stops here"
            + (f"; {new} takes its place" if new else "")
            if gone
            else f"{name} is deprecated; {new} takes its place",
            severity="error" if gone else "note",
            confidence="proven" if evidence or not gone else "likely",
            evidence=evidence,
            fixes=fix(f"use {new}", [replace_node(unit, node, new) for node in uses], certain=True)
            if new.isupper()
            else (),
        )


def _headers(unit: Unit, context: Context) -> Iterator[Finding]:
    for node in cuda_code(unit).of("preproc_include"):
        header = text(node.child_by_field_name("path")).strip('<>"')
        if not header.startswith(("THC/", "TH/")) or header in STILL_THERE:
            continue
        evidence = confirming(context, ("missing-header",), (header,))
        yield RULE.finding(
            unit.place_line(text_line(node)),
            f"PyTorch no longer has the header {header}, so the build stops here",
            confidence="proven" if evidence else "likely",
            evidence=evidence,
            fixes=fix(f"drop {header}", [delete_lines_of(unit, node)]),
        )


def text_line(node: Node) -> int:
    """Return the line of a node in its text (1-based)."""
    return node.start_point[0] + 1


def _methods(unit: Unit) -> Iterator[Finding]:
    for call in cuda_code(unit).calls:
        if call.name == "data" and call.template and call.object is not None:
            callee = call.node.child_by_field_name("function")
            method = callee.child_by_field_name("field") if callee is not None else None
            name = method.child_by_field_name("name") if method is not None else None
            yield RULE.finding(
                unit.place(call.node),
                f"data<{call.template}>() is deprecated and still builds; "
                f"data_ptr<{call.template}>() takes its place",
                severity="note",
                confidence="proven",
                fixes=fix("use data_ptr", [replace_node(unit, name, "data_ptr")], certain=True)
                if name is not None
                else (),
            )
        elif call.name in {"is_cuda", "scalarType"} and _on_type(call.object):
            yield RULE.finding(
                unit.place(call.node),
                "type() is deprecated and still builds; ask the tensor itself",
                severity="note",
                confidence="proven",
            )


def _on_type(node: Node | None) -> bool:
    if node is None or node.type != "call_expression":
        return False
    call = read_call(node)
    return call.name == "type" and call.object is not None


RULE = Rule(
    code="BLD008",
    name="removed-torch-api",
    severity="error",
    summary="The code uses PyTorch names that were removed or are deprecated.",
    why="Old tutorials use AT_CHECK and the THC headers; current releases have neither. What is "
    "only deprecated still builds, with a warning.",
    bad=(
        """
#include <THC/THC.h>
torch::Tensor f(torch::Tensor x) { return x; }
""",
        """
torch::Tensor f(torch::Tensor x) {
    AT_CHECK(x.is_cuda(), "needs a CUDA tensor");
    return x;
}
""",
        """
torch::Tensor f(torch::Tensor x) {
    float* p = x.data<float>();
    return x;
}
""",
    ),
    good="""
#include <torch/extension.h>
#include <vector>
#define AT_CHECK TORCH_CHECK
torch::Tensor f(torch::Tensor x) {
    std::vector<float> v(3);
    AT_CHECK(x.is_cuda(), "needs a CUDA tensor");
    float* p = x.data_ptr<float>();
    float* q = v.data();
    return x;
}
""",
    detects=("text", "build"),
    languages=("cuda",),
    guards="A definition of the same name in the submission counts; std::vector::data() is no "
    "method of a tensor. Deprecated names are notes.",
    fix="Writes TORCH_CHECK and data_ptr, and drops the missing header.",
    check=check,
)
