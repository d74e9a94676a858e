"""API003: host code doesn't check its tensors, nor its launches' errors or stream."""

import re
from collections.abc import Iterator

from grader.rules import Context, Finding, Source, Unit, rule_of
from grader.source import Launch
from grader.source.nodes import text

ASKED = {
    "device": {"is_cuda", "device", "get_device", "is_privateuseone", "device_type"},
    "memory layout": {"is_contiguous", "contiguous", "stride", "strides", "is_non_overlapping_and_dense"},
    "dtype": {"scalar_type", "dtype", "expect_contiguous"},
}  # fmt: skip
"""Checks of tensors by these methods, in functions or macros."""
CHECKS = {"cudaGetLastError", "cudaPeekAtLastError", "C10_CUDA_KERNEL_LAUNCH_CHECK",
          "AT_CUDA_CHECK", "C10_CUDA_CHECK", "CUDA_CHECK"}  # fmt: skip
METHOD = re.compile(r"\.\s*(\w+)\s*\(")
POINTER = re.compile(r"\bdata_ptr\b|[.>]data\b")
UNTYPED = re.compile(r"\bdata_ptr\s*\(")


def check(source: Source, _context: Context) -> Iterator[Finding]:
    """Report once for a text the checks that its launches and inputs lack."""
    code = source.module
    calls = [name for name, one in code.calls if code.runs_in_forward(one)]
    ordered = any(name.endswith(".contiguous") for name in calls)
    for unit in source.cuda:
        yield from _launches(unit)
        yield from _inputs(unit, ordered=ordered)


def _launches(unit: Unit) -> Iterator[Finding]:
    missing = (
        [] if CHECKS & set(re.findall(r"\w+", unit.text)) else ["no launch is checked for errors"]
    )
    if any(map(_on_default_stream, unit.launches)):
        missing.append("kernels run on the default stream, not on PyTorch's current one")
    for launch in unit.launches[:1] if missing else ():
        yield RULE.finding(
            unit.place(launch.node),
            "; ".join(missing) + ": this hurts in some programs only",
            folded=True,
        )


def _on_default_stream(launch: Launch) -> bool:
    return launch.stream is None or text(launch.stream) in {"0", "nullptr", "NULL"}


def _inputs(unit: Unit, *, ordered: bool) -> Iterator[Finding]:
    methods = {*METHOD.findall(unit.text), *(["contiguous"] if ordered else [])}
    missing = [what for what, asked in ASKED.items() if not methods & asked]
    if "dtype" in missing and not UNTYPED.search(unit.text):
        missing.remove("dtype")  # a pointer to a type is refused for a tensor of another
    for launch in unit.launches if missing else ():
        function = unit.function_around(launch.node)
        given = [one for one in function.parameters if "Tensor" in one.type] if function else []
        if function and given and POINTER.search(text(function.node)):
            yield RULE.finding(
                unit.place(function.parameters[0].node),
                f"{function.name} does not check the {' and '.join(missing)} of its inputs: a wrong "
                "call crashes or gives wrong numbers instead of a message",
                folded=True,
            )
            return


RULE = rule_of(__file__, check, predicts="nothing")
