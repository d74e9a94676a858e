"""API006: a check of the program's own refuses what its forward passes."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from tree_sitter import Node

from grader.records import Context, Edit, Evidence, Finding, Fix, Place
from grader.rules.rule import Example, Rule
from grader.source import Source, Unit
from grader.source.code_edits import fix
from grader.source.cuda_code import Call, around, cuda_code, descendants, one_line, text, units
from grader.source.statements import simple_statement

SHORT = 8
"""Characters of a message that are too few to know it by."""
CHECKS = ("TORCH_CHECK", "AT_ASSERT", "TORCH_INTERNAL_ASSERT")


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Look for the check whose words Python raised."""
    workloads = context.task.workloads if context.task is not None else ()
    others = {workload.name for workload in workloads if workload.role == "general"}
    for item in context.seen("python"):
        if item.code != "raised":
            continue
        refusal = next(_refusals(source, item.said), None)
        if refusal is not None:
            yield _finding(refusal, item, elsewhere=item.workload in others)


@dataclass(frozen=True)
class _Refusal:
    """A check that raised."""

    place: Place
    condition: str
    """What it asks for, as written."""
    fixes: tuple[Fix, ...] = ()


def _refusals(source: Source, raised: str) -> Iterator[_Refusal]:
    """Yield the checks that may have raised a message: of the host code, then of Python."""
    plain = " ".join(raised.split())
    for unit in units(source):
        for call in cuda_code(unit).calls:
            if _on_input(call) and _says(call, plain):
                condition = one_line(call.arguments[0], 60)
                yield _Refusal(unit.place(call.node), condition, _contiguous(unit, call))
        yield from _of_macro(unit, plain)
        yield from _thrown(unit, plain)
    for node in source.walk(ast.Assert):
        words = [n.value for n in ast.walk(node) if isinstance(n, ast.Constant)]
        if any(isinstance(said, str) and _fits(said, plain) for said in words):
            yield _Refusal(source.place(node), ast.unparse(node.test)[:60])


def _thrown(unit: Unit, raised: str) -> Iterator[_Refusal]:
    """Yield the exceptions that the host code throws by itself, `if (dim != 2) throw ...`."""
    for node in cuda_code(unit).of("throw_statement"):
        words = [text(part) for part in descendants(node, "string_content")]
        if not words or not _fits(max(words, key=len), raised):
            continue
        test = next((outer for outer in around(node) if outer.type == "if_statement"), None)
        if test is not None:
            condition = one_line(test.child_by_field_name("condition"), 60)
            yield _Refusal(unit.place(node), condition)


def _of_macro(unit: Unit, raised: str) -> Iterator[_Refusal]:
    """Yield the uses of macros that ask for contiguous tensors, `CHECK_INPUT(x)`, where one refused a tensor."""
    asking = _asking_macros(unit)
    if not asking or "contiguous" not in raised:
        return
    used = [
        call
        for call in cuda_code(unit).calls
        if call.name in asking
        and len(call.arguments) == 1
        and call.arguments[0].type == "identifier"
    ]
    refused = [call for call in used if _named(text(call.arguments[0]), raised)]
    if not refused:
        return
    edits = [
        unit.edit(own.start_byte, own.start_byte, f"{name} = {name}.contiguous(); ")
        for call in used
        for own, name in ((simple_statement(call.node), text(call.arguments[0])),)
    ]
    fixed = fix("make the tensors contiguous before they are checked", edits)
    yield _Refusal(unit.place(refused[0].node), f"{one_line(refused[0].node, 60)}", fixed)


def _named(name: str, raised: str) -> bool:
    """Whether a message begins with a tensor's name, as `#x " must be contiguous"` writes it."""
    return re.search(rf"(?:^|[\s:]){re.escape(name)}\b", raised) is not None


def _asking_macros(unit: Unit) -> set[str]:
    """Return the macros with parameters that ask for contiguous tensors, through others as well."""
    bodies = {
        text(node.child_by_field_name("name")): text(node.child_by_field_name("value"))
        for node in cuda_code(unit).of("preproc_function_def")
    }
    asking = {name for name, body in bodies.items() if "is_contiguous" in body}
    while more := {
        name
        for name, body in bodies.items()
        if name not in asking and any(re.search(rf"\b{other}\b", body) for other in asking)
    }:
        asking |= more
    return asking


def _on_input(call: Call) -> bool:
    """Whether a call is a check, and not of what a call of CUDA's gave back: that tells of an error."""
    if not call.last.startswith(CHECKS) or not call.arguments:
        return False
    condition = text(call.arguments[0]).lower()
    return not any(word in condition for word in ("success", "err", "status", "result"))


def _says(call: Call, raised: str) -> bool:
    """Whether a check's words are in what was raised; without words torch repeats the condition."""
    words = [
        text(part)
        for argument in call.arguments[1:]
        for part in descendants(argument, "string_content")
    ]
    if not words:
        return f"Expected {' '.join(text(call.arguments[0]).split())} to be true" in raised
    return _fits(max(words, key=len), raised)


def _fits(words: str, raised: str) -> bool:
    words = " ".join(words.split())
    return len(words) >= SHORT and words in raised


def _contiguous(unit: Unit, call: Call) -> tuple[Fix, ...]:
    """Make tensors contiguous where the function only checks that they are."""
    asked = _asked_contiguous(call)
    if asked is None:
        return ()
    edits: list[Edit | None] = []
    for other in cuda_code(unit).calls:
        tensor = _asked_contiguous(other) if other.last == call.last else None
        if tensor is not None:
            own = simple_statement(other.node)
            new = f"{text(tensor)} = {text(tensor)}.contiguous();"
            edits.append(unit.edit(own.start_byte, own.end_byte, new))
    return fix("make the tensors contiguous instead of asking for it", edits)


def _asked_contiguous(call: Call) -> Node | None:
    """Return the tensor of `CHECK(x.is_contiguous(), ...)`."""
    condition = call.arguments[0] if call.arguments else None
    if condition is None or condition.type != "call_expression":
        return None
    callee = condition.child_by_field_name("function")
    if callee is None or text(callee.child_by_field_name("field")) != "is_contiguous":
        return None
    tensor = callee.child_by_field_name("argument")
    return tensor if tensor is not None and tensor.type == "identifier" else None


def _finding(refusal: _Refusal, item: Evidence, *, elsewhere: bool) -> Finding:
    given = "inputs of other sizes" if elsewhere else "the task's own inputs"
    end = "" if elsewhere else ": the call raises, and nothing is computed"
    return RULE.finding(
        refusal.place,
        f"the program's own check on line {refusal.place.line}, `{refusal.condition}`, refuses what it is given for {given}{end}",
        severity="note" if elsewhere else None,
        evidence=(item,),
        fixes=() if elsewhere else refusal.fixes,
    )


_CODE = """
__global__ void twice(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 2.0f * x[i];
}
torch::Tensor run(torch::Tensor x) {
    TORCH_CHECK(x.is_contiguous(), "x must be contiguous");
    auto y = torch::empty_like(x);
    int n = x.numel();
    twice<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
    return y;
}
"""


def _raised(words: str) -> Context:
    return Context(evidence=(Evidence(kind="python", code="raised", text=words),))


RULE = Rule(
    code="API006",
    name="own-check-refuses-the-input",
    severity="error",
    summary="A check in the submission itself (TORCH_CHECK, assert) refuses what its forward is given or passes on, so the call raises.",
    why="A check says what a kernel takes; forward has to hand over just that. A slice, a chunk or a transposed view isn't contiguous: "
    "make it so (`x = x.contiguous()`) rather than refuse it, and let limits on sizes include the sizes that are asked for.",
    bad=Example(_CODE, _raised("RuntimeError: x must be contiguous")),
    good=_CODE,
    detects=("evidence",),
    guards="Only where the check's words are in what was raised, and not where it checks what a call of CUDA gave back. A check that "
    "refuses nothing but other sizes than the task's is a note: it does what it is for.",
    fix="Makes tensors contiguous where the function only checks that they are.",
    check=check,
)
