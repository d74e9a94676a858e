"""A change of compiled code is said in the words of its source line."""

from __future__ import annotations

from dataclasses import replace

import pytest

from grader.records import Counterfactual, Place
from grader.records.changes import (
    AddedToOld,
    Changed,
    FixedGuard,
    KernelChange,
    KernelValue,
    OneMoreStep,
    Operation,
    OtherArgument,
    OtherComparison,
    OtherConstant,
    OtherDivisor,
    OtherHostCode,
    OtherOperand,
    OtherOperator,
    Passed,
    PassedArgument,
    PassedNumber,
    PassedSize,
    PassedTensor,
    SecondCondition,
)
from grader.source import Source, edits, parse
from grader.source.analysis.counterfactual import say_change
from grader.source.rewriting.changed_argument import changed_argument
from grader.source.rewriting.changed_line import ChangedLine

CODE = """
import triton
import triton.language as tl
@triton.jit
def rows(x_ptr, y_ptr, n, m, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * m + cols, mask=cols <= n)
    s = tl.exp(x - 1.0)
    tl.store(y_ptr + row, s)
"""


ROW, COLS, X, S = (KernelValue("line", line) for line in (6, 7, 8, 9))
N, M = (KernelValue("argument", number) for number in (2, 3))


def _of(name: str, *values: KernelValue, number: str = "", kind: str = "f32") -> Operation:
    return Operation(name, kind, number, values)


def _given(after: Passed, given: str = "x.stride(0)") -> OtherArgument:
    return OtherArgument((2,), after, given=given, receiver="scale")


@pytest.mark.parametrize(
    ("line", "change", "said"),
    [
        (8, OtherOperand(M, N), "line 8 has `m`: with `n` every"),
        (8, OtherOperand(replace(ROW, nth=2), KernelValue("index", register="%ctaid.y")), "line 8 has `row`: with `tl.program_id(1)` every"),
        (8, OtherComparison(_of("gt", kind="s32"), _of("ge", kind="s32")), "line 8 has `<=`: with `<` every"),
        (9, OtherOperator(_of("sub"), _of("add")), "line 9 has `-`: with `+` every"),
        (9, OtherOperator(_of("sub"), "the second operand alone"), "line 9 combines values: with the second operand alone every"),
        (9, OtherConstant("1", "0"), "line 9 has `1.0`: with `0.0` every"),
        (9, OneMoreStep(X, _of("mul", N)), "line 9 has `x`: with `x * n` every"),
        (9, OneMoreStep(X, _of("if", COLS, number="0")), "line 9 has `x`: with `tl.where(cols, x, 0.0)` every"),
        (9, OneMoreStep(X, _of("sqrt")), "line 9 has `x`: with `tl.sqrt(x)` every"),
        (9, OneMoreStep(ROW, _of("square")), "line 9 takes what line 6 makes: with `square` of it every"),
        (8, OtherDivisor(_of("rem", kind="s32"), _of("div", N, M, kind="s32")), "line 8 takes a value: with the quotient by n / m in"),
        (8, SecondCondition(N, _of("lt", M, kind="s32")), "line 8 has a condition: with `n < m` beside it every"),
        (9, AddedToOld(ROW, _of("add")), "line 9 sets anew what earlier turns made: with that and the new value joined by `+` every"),
        (9, FixedGuard("bra", "never"), "line 9 does this under a condition: if the condition never holds, every"),
        (9, _given(PassedNumber("sqrt(x)")), "line 9 gives `scale` as `x.stride(0)`: with `sqrt(x)`, where"),
        (9, _given(PassedSize("input 1", 0, 1)), "line 9 gives `scale` as `x.stride(0)`: with input 1: size(0) * size(1) every"),
        (9, replace(_given(PassedArgument(3, text="x.stride(1)")), before=(2, 3)), "line 9 gives `scale` as `x.stride(0)`: with that and `x.stride(1)` exchanged"),
        (9, OtherHostCode(("a", "b"), ("c", "d")), "line 9 has `a` and `b`: with `c` and `d` every"),
    ],
)  # fmt: skip
def test_what_a_line_has_and_what_it_needs(line: int, change: Changed, said: str) -> None:
    source = parse(CODE)
    seen = Counterfactual(change=change, right_before=0.0, workloads=3)
    message = say_change(source, source.line_place(line), seen)
    assert message.startswith(said)
    assert message.endswith("element is right on three workloads")
    assert Counterfactual.model_validate_json(seen.model_dump_json()) == seen


def test_what_takes_two_changes_is_not_said_of_one() -> None:
    source = parse(CODE)

    def said(change: Changed, copies: int = 1, also: tuple[int, ...] = ()) -> str:
        seen = Counterfactual(change=change, copies=copies, also=also, right_before=0.0)
        return say_change(source, source.line_place(8), seen)

    exchanged = said(OtherOperand(N, M, both=True), also=(9,))
    assert "takes `n`: with that and `m` exchanged every" in exchanged
    of_both = said(OneMoreStep(N, _of("sqrt"), both=True))
    assert "takes two values: with `sqrt` of both every" in of_both
    subtracted = OtherOperator(_of("add", kind="s32"), _of("sub", kind="s32"))
    assert "has `+`: with `-` for one or more of these every" in said(subtracted, copies=2)
    assert "has `+`: with `-` for one" not in said(subtracted)


@pytest.mark.parametrize(
    ("line", "change", "written"),
    [
        (8, OtherOperand(M, N), "x = tl.load(x_ptr + row * n + cols, mask=cols <= n)"),
        (8, OtherComparison(_of("gt"), _of("ge")), "x = tl.load(x_ptr + row * m + cols, mask=cols < n)"),
        (9, OtherOperator(_of("sub"), _of("add")), "s = tl.exp(x + 1.0)"),
        (9, OtherConstant("1", "-inf"), 's = tl.exp(x - -float("inf"))'),
        (9, OneMoreStep(X, _of("sqrt")), "s = tl.exp(tl.sqrt(x) - 1.0)"),
        (9, OneMoreStep(replace(X, named=False), _of("neg")), "s = tl.exp((-x) - 1.0)"),
        (9, OneMoreStep(X, _of("add", number="-1")), "s = tl.exp((x - 1) - 1.0)"),
        (6, OneMoreStep(replace(ROW, named=False), _of("add", number="-1", kind="int")), "row = tl.program_id(0) - 1"),
        (10, OneMoreStep(S, _of("mul", N)), "tl.store(y_ptr + row, s * n)"),
        (9, OneMoreStep(X, _of("div", N)), "s = tl.exp(x / n - 1.0)"),
        (9, OneMoreStep(X, _of("div", N, kind="s64")), "s = tl.exp(x // n - 1.0)"),
        (9, AddedToOld(ROW, _of("add")), "s += tl.exp(x - 1.0)"),
    ],
)  # fmt: skip
def test_what_a_run_proved_is_written(line: int, change: KernelChange, written: str) -> None:
    source = parse(CODE)
    changed = ChangedLine(source, source.line_place(line), change)
    first = [changed.edit(one) for one in (*changed.exact(), *changed.likely())][:1]
    assert edits.apply(CODE, first).splitlines()[line - 1].strip() == written


def test_two_values_are_written_in_each_others_place_or_a_step_around_both() -> None:
    source = parse(CODE)
    line = ChangedLine(source, source.line_place(8), OtherOperand(ROW, N, both=True))
    (way,) = line.of_both()
    said = edits.apply(CODE, [line.edit(one) for one in way]).splitlines()[7].strip()
    assert said == "x = tl.load(x_ptr + n * m + cols, mask=cols <= row)"
    alike = OneMoreStep(ROW, _of("neg"), both=True)
    ways = ChangedLine(source, source.line_place(8), alike).of_both()
    assert ["-n", "(-m)"] in [[text for _, _, text in way] for way in ways]


HOST = """
class ModelNew(nn.Module):
    def forward(self, q, k):
        return rotate(q, q, 1.0 / self.d)
def rotate(a, b, scale):
    kernel[(1,)](a, b, scale)
"""


@pytest.mark.parametrize(
    ("call", "after", "written"),
    [
        ("1.0 / self.d", PassedNumber("sqrt(x)"), "return rotate(q, q, (1.0 / self.d) ** 0.5)"),
        ("q", PassedTensor("input 2"), "return rotate(k, q, 1.0 / self.d)"),
        ("q", PassedTensor("input 1", (0, 1)), "return rotate(q.transpose(0, 1).contiguous(), q, 1.0 / self.d)"),
        ("q", PassedSize("input 2", 1, 1), "return rotate(k.shape[1], q, 1.0 / self.d)"),
        ("q", PassedArgument(1, text="other"), "return rotate(other, q, 1.0 / self.d)"),
        ("1.0 / self.d", PassedNumber("1 / (1 - x)", "argument 1 of ModelNew"), "return rotate(q, q, 1.0 / (1.0 - self.d))"),
    ],
)  # fmt: skip
def test_what_a_launch_had_to_get_is_written(call: str, after: Passed, written: str) -> None:
    source = parse(HOST)
    place = _place(source, call)
    code = edits.apply(HOST, changed_argument(source, place, _given(after, call)))
    assert code.splitlines()[3].strip() == written


def test_half_of_an_exchange_is_not_written() -> None:
    source = parse(HOST)
    change = replace(_given(PassedArgument(1, text="other"), "q"), before=(0, 1))
    assert not changed_argument(source, _place(source, "q"), change)


def _place(source: Source, text: str) -> Place:
    at = source.code.index(text, source.code.index("rotate("))
    return source.place((at, at + len(text)))
