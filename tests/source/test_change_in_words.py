"""A change of compiled code is said in the words of its source line."""

from __future__ import annotations

import pytest

from grader.records import Counterfactual, Place
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


@pytest.mark.parametrize(
    ("line", "change", "before", "after", "said"),
    [
        (8, "operand", "argument 3", "argument 2", "line 8 has `m`: with `n` every"),
        (8, "operand", "line 6#2", "%ctaid.y", "line 8 has `row`: with `tl.program_id(1)` every"),
        (8, "comparison", "setp.gt.s32", "setp.ge.s32", "line 8 has `<=`: with `<` every"),
        (9, "operator", "sub.rn.f32", "add.f32", "line 9 has `-`: with `+` every"),
        (9, "constant", "1", "0", "line 9 has `1.0`: with `0.0` every"),
        (9, "around", "line 8", "mul.f32 argument 2", "line 9 has `x`: with `x * n` every"),
        (9, "around", "line 8", "selp if 0 line 7", "line 9 has `x`: with `tl.where(cols, x, 0.0)` every"),
        (9, "around", "line 8", "sqrt.rn.f32", "line 9 has `x`: with `tl.sqrt(x)` every"),
        (9, "around", "line 6", "square", "line 9 takes what line 6 makes: with `square` of it every"),
        (8, "operand", "rem.s32", "the quotient by argument 2 / argument 3", "line 8 takes a value: with the quotient by n / m in"),
        (8, "condition", "argument 2", "setp.lt.s32 argument 3", "line 8 has a condition: with `n < m` beside it every"),
        (9, "argument", "1.0 / D", "sqrt(x)", "line 9 gives `scale` as `1.0 / D`: with `sqrt(x)`, where"),
        (9, "argument", "x.stride(0)", "`x.stride(1)` and `x.stride(0)`", "line 9 gives `scale` as `x.stride(0)`: with that and `x.stride(1)` exchanged"),
    ],
)  # fmt: skip
def test_what_a_line_has_and_what_it_needs(
    line: int, change: str, before: str, after: str, said: str
) -> None:
    source = parse(CODE)
    seen = Counterfactual(
        change=change,
        before=before,
        after=after,
        parameter="scale",
        right_before=0.0,
        workloads=3,
    )
    message = say_change(source, source.line_place(line), seen)
    assert message.startswith(said)
    assert message.endswith("element is right on three workloads")


def test_what_takes_two_changes_is_not_said_of_one() -> None:
    source = parse(CODE)

    def said(**fields: object) -> str:
        seen = {
            "change": "operand",
            "before": "argument 2",
            "after": "argument 3",
            "right_before": 0.0,
        }
        return say_change(
            source, source.line_place(8), Counterfactual.model_validate(seen | fields)
        )

    assert "takes `n`: with that and `m` exchanged every" in said(both="exchanged", also=(9,))
    assert "takes two values: with `sqrt` of both every" in said(
        change="around", after="sqrt.rn.f32", both="alike"
    )
    assert "line 8 has `+`: with `-` for one or more of these every" in said(
        change="operator", before="add.s32", after="sub.s32", copies=2
    )
    assert "line 8 has `+`: with `-` for one" not in said(
        change="operator", before="add.s32", after="sub.s32"
    )


@pytest.mark.parametrize(
    ("line", "change", "before", "after", "written"),
    [
        (8, "operand", "argument 3", "argument 2", "x = tl.load(x_ptr + row * n + cols, mask=cols <= n)"),
        (8, "comparison", "setp.gt.s32", "setp.ge.s32", "x = tl.load(x_ptr + row * m + cols, mask=cols < n)"),
        (9, "operator", "sub.rn.f32", "add.f32", "s = tl.exp(x + 1.0)"),
        (9, "constant", "1", "-inf", 's = tl.exp(x - -float("inf"))'),
        (9, "around", "line 8", "sqrt.rn.f32", "s = tl.exp(tl.sqrt(x) - 1.0)"),
        (9, "around", "", "neg.f32", "s = tl.exp((-x) - 1.0)"),
        (9, "around", "line 8", "add.f32 -1", "s = tl.exp((x - 1) - 1.0)"),
        (6, "around", "", "add.s32 -1", "row = tl.program_id(0) - 1"),
        (10, "around", "line 9", "mul.f32 argument 2", "tl.store(y_ptr + row, s * n)"),
        (9, "around", "line 8", "div.rn.f32 argument 2", "s = tl.exp(x / n - 1.0)"),
        (9, "carried", "line 6 and line 9", "add.f32", "s += tl.exp(x - 1.0)"),
    ],
)  # fmt: skip
def test_what_a_run_proved_is_written(
    line: int, change: str, before: str, after: str, written: str
) -> None:
    source = parse(CODE)
    nameless = () if before else ("before",)
    seen = Counterfactual(
        change=change, before=before, after=after, nameless=nameless, right_before=0.0
    )
    changed = ChangedLine(source, source.line_place(line), seen)
    first = [changed.edit(one) for one in (*changed.exact(), *changed.likely())][:1]
    assert edits.apply(CODE, first).splitlines()[line - 1].strip() == written


def test_two_values_are_written_in_each_others_place_or_a_step_around_both() -> None:
    source = parse(CODE)
    seen = Counterfactual(change="operand", before="line 6", after="argument 2", both="exchanged", right_before=0.0)  # fmt: skip
    line = ChangedLine(source, source.line_place(8), seen)
    (way,) = line.of_both()
    said = edits.apply(CODE, [line.edit(one) for one in way]).splitlines()[7].strip()
    assert said == "x = tl.load(x_ptr + n * m + cols, mask=cols <= row)"
    alike = seen.model_copy(update={"change": "around", "after": "neg.f32", "both": "alike"})
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
        ("1.0 / self.d", "sqrt(x)", "return rotate(q, q, (1.0 / self.d) ** 0.5)"),
        ("q", "input 2", "return rotate(k, q, 1.0 / self.d)"),
        ("q", (0, 1), "return rotate(q.transpose(0, 1).contiguous(), q, 1.0 / self.d)"),
        ("1.0 / self.d", "1 / (1 - (argument 1 of ModelNew))", "return rotate(q, q, 1.0 / (1.0 - self.d))"),
    ],
)  # fmt: skip
def test_what_a_launch_had_to_get_is_written(
    call: str, after: str | tuple[int, int], written: str
) -> None:
    source = parse(HOST)
    place = _place(source, call)
    said = (
        {"after": after}
        if isinstance(after, str)
        else {"after": "input 1", "exchanged_dims": after}
    )
    seen = Counterfactual(change="argument", before=call, **said, parameter="a", right_before=0.0)
    code = edits.apply(HOST, changed_argument(source, place, seen))
    assert code.splitlines()[3].strip() == written


def _place(source: Source, text: str) -> Place:
    at = source.code.index(text, source.code.index("rotate("))
    return source.place((at, at + len(text)))
