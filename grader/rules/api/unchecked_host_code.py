"""API003: host code takes tensors as they come, and launches without asking how it went or on which stream."""

import re
from collections.abc import Iterator

from grader.records import Context, Finding
from grader.rules.page_file import rule_of
from grader.source import Function, Launch, Source, Unit
from grader.source.cuda_code import cuda_code, text

DEVICE = {"is_cuda", "device", "get_device", "is_privateuseone", "device_type"}
LAYOUT = {"is_contiguous", "contiguous", "stride", "strides", "is_non_overlapping_and_dense"}
TYPE = {"scalar_type", "dtype", "expect_contiguous"}
POINTERS = {"data_ptr", "mutable_data_ptr", "const_data_ptr"}
CHECKS = {"cudaGetLastError", "cudaPeekAtLastError", "C10_CUDA_KERNEL_LAUNCH_CHECK",
          "AT_CUDA_CHECK", "C10_CUDA_CHECK", "CUDA_CHECK"}  # fmt: skip


def check(source: Source, _context: Context) -> Iterator[Finding]:
    """Say once what the launches of a submission leave out, and what each host function does not check."""
    yield from _launches([(unit, launch) for unit in source.cuda for launch in unit.launches])
    code = source.module
    calls = [name for name, one in code.calls if code.runs_in_forward(one)] if code else []
    ordered = any(name.endswith(".contiguous") for name in calls)
    for unit in source.cuda:
        for function in unit.host_functions:
            types = (
                one.type.replace("&", "").replace("const", "").strip()
                for one in function.parameters
            )
            launches = any(launch.host_function is function for launch in unit.launches)
            if launches and any(kind.endswith("Tensor") for kind in types):
                yield from _function(unit, function, ordered=ordered)


# launches


def _launches(launches: list[tuple[Unit, Launch]]) -> Iterator[Finding]:
    missing: list[str] = []
    unchecked = [pair for pair in launches if not _checked(*pair)]
    streamless = [pair for pair in launches if _default_stream(pair[1])]
    if unchecked:
        missing.append("no launch is checked for errors"
                       if len(unchecked) == len(launches)
                       else f"{len(unchecked)} of {len(launches)} are unchecked")  # fmt: skip
    if streamless:
        missing.append("kernels run on the default stream, not on PyTorch's current one")
    for unit, launch in (unchecked or streamless)[:1]:
        yield RULE.finding(
            unit.place(launch.node),
            "; ".join(missing) + ": this hurts in some programs only",
            folded=True,
        )


def _checked(unit: Unit, launch: Launch) -> bool:
    """Whether some error check follows a launch in its function."""
    end = launch.host_function.node.end_byte if launch.host_function else len(unit.data)
    made = (name for name, body in _macros(unit).items() if any(one in body for one in CHECKS))
    asking = {*CHECKS, *made}
    return any(
        call.last in asking and launch.node.end_byte <= call.node.start_byte < end
        for call in cuda_code(unit).calls
    )


def _macros(unit: Unit) -> dict[str, str]:
    """Return the macros with parameters of a text, each with its body."""
    found = cuda_code(unit).of("preproc_function_def")
    return {text(one.child_by_field_name("name")): text(one.child_by_field_name("value")) for one in found}  # fmt: skip


def _default_stream(launch: Launch) -> bool:
    return launch.stream is None or text(launch.stream) in {"0", "nullptr", "NULL"}


# inputs


def _function(unit: Unit, function: Function, *, ordered: bool) -> Iterator[Finding]:
    calls = list(cuda_code(unit).calls_under(function.node))
    asked = _asked(unit, function)
    untyped = any(call.name in POINTERS and not call.template for call in calls)
    checks = {
        "device": asked & DEVICE,
        "memory layout": asked & LAYOUT or ordered,
        "dtype": asked & TYPE or not untyped,
    }
    missing = [what for what, found in checks.items() if not found]
    if missing and any(call.name in POINTERS | {"data"} for call in calls):
        yield RULE.finding(
            unit.place(function.parameters[0].node),
            f"{function.name} does not check the {' and '.join(missing)} of its inputs: a wrong "
            "call crashes or gives wrong numbers instead of a message",
            folded=True,
        )


def _asked(unit: Unit, function: Function) -> set[str]:
    """Return what a function asks of tensors, also through helpers and macros of the text."""
    code = cuda_code(unit)
    asked = {call.last for call in code.calls_under(function.node)}
    for other in unit.host_functions:
        if other.name in asked and other is not function:
            asked |= {call.last for call in code.calls_under(other.node)}
    macros = _macros(unit)
    for _ in range(2):  # macros of macros
        asked |= {w for name in asked & macros.keys() for w in re.findall(r"\w+", macros[name])}
    return asked


RULE = rule_of(__file__, check, predicts="nothing")
