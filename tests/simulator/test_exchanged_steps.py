"""Steps that are done in another order: what each such change makes of a value, told by a small interpreter of floats."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable

import pytest

from grader.records.changes import EarlierStep
from grader.simulator.changes.change import Change
from grader.simulator.changes.exchanged_steps import ExchangedSteps
from grader.simulator.changes.values import Values
from grader.simulator.ptx import decode, encode
from grader.simulator.ptx.code import Instruction, Operand, read_code

HEAD = """
.version 8.0
.target sm_90
.address_size 64
.file 1 "cuda.cu"
.visible .entry steps(.param .u64 steps_param_0)
{
    .reg .f32 %f<12>;
    .reg .b64 %rd<4>;
    .loc 1 2 0
    ld.param.u64 %rd1, [steps_param_0];
    ld.global.f32 %f1, [%rd1];
    ld.global.f32 %f2, [%rd1+4];
    ld.global.f32 %f3, [%rd1+8];
    .loc 1 3 0
"""
TAIL = """
    .loc 1 4 0
    st.global.f32 [%rd1], %f9;
    ret;
}
"""
A, B, C = 3.0, 5.0, 16.0
STEPS: dict[str, Callable[..., float]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "max": max,
    "sqrt": math.sqrt,
    "fma": lambda a, b, c: a * b + c,
}


def changes_of_steps(steps: str) -> list[tuple[Change, float]]:
    """Return the changes of a text of steps, each with what it makes of `%f9` where `%f1` to `%f3` are A, B and C."""
    code = read_code(encode(decode(HEAD + steps + TAIL)))
    values = Values(code, code.functions[0])
    found = ExchangedSteps(0, values, code.places).changes()
    return [(one, result(values.function.instructions, one)) for one in found]


def result(instructions: tuple[Instruction, ...], change: Change) -> float:
    """Return what the last store stores under a change."""
    edits, held = dict(change.edits), dict[int, float]()
    given = iter((A, B, C))
    stored = math.nan
    for at, old in enumerate(instructions):
        for one in edits.get(at, (old,)):
            name, target = one.opcode.partition(".")[0], one.operands[:1]
            if one.opcode == "ld.global.f32":
                held[target[0].value] = next(given)
            elif name in STEPS:
                held[target[0].value] = STEPS[name](*(number(o, held) for o in one.operands[1:]))
            elif name == "st":
                stored = held[one.operands[1].value]
    return stored


def number(operand: Operand, held: dict[int, float]) -> float:
    if operand.kind == "reg":
        return held[operand.value]
    return float(struct.unpack("<f", struct.pack("<I", operand.value & 0xFFFFFFFF))[0])


@pytest.mark.parametrize(
    ("steps", "meant"),
    [
        ("add.f32 %f4, %f1, %f2; mul.f32 %f9, %f4, %f3;", A * C + B),
        ("add.f32 %f4, %f1, %f2; mul.f32 %f9, %f4, %f3;", A + B * C),
        ("mul.f32 %f4, %f1, %f3; add.f32 %f9, %f4, %f2;", (A + B) * C),
        ("sqrt.rn.f32 %f4, %f1; div.rn.f32 %f9, %f4, %f3;", math.sqrt(A / C)),
        ("max.f32 %f4, %f1, %f2; mul.f32 %f9, %f4, %f3;", max(A * C, B)),
        ("fma.rn.f32 %f4, %f1, %f2, %f3; div.rn.f32 %f9, %f4, %f2;", A + C),
        ("sub.f32 %f4, %f3, %f2; sqrt.rn.f32 %f9, %f4;", math.sqrt(C) - math.sqrt(B)),
        (
            "sub.f32 %f4, %f3, %f1; add.f32 %f5, %f4, %f2; sqrt.rn.f32 %f9, %f5;",
            math.sqrt(C) - math.sqrt(A) + B,
        ),
    ],
    ids=["rescaled-late", "brackets", "no-brackets", "root", "clamp", "fma", "both", "deep"],
)
def test_a_step_is_done_before_the_one_whose_result_it_took(steps: str, meant: float) -> None:
    found = changes_of_steps(steps)
    assert any(math.isclose(value, meant, rel_tol=1e-6) for _, value in found)
    assert all(isinstance(change.changed, EarlierStep) and change.line == 3 for change, _ in found)


@pytest.mark.parametrize("second", ["add.f32 %f9, %f4, %f3;", "sub.f32 %f9, %f4, %f3;"])
def test_sums_are_the_same_in_any_order(second: str) -> None:
    assert not changes_of_steps("add.f32 %f4, %f1, %f2;" + second)
