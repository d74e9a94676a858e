"""Small changes of a program: what is read back is what was written, and each change is one of a place in the source."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.devices.leads import Concerns, Leads
from grader.records import JsonValue
from grader.records.changes import (
    GRID,
    AddedToOld,
    Changed,
    FixedGuard,
    KernelValue,
    OneMoreStep,
    Operation,
    OtherArgument,
    OtherComparison,
    OtherConstant,
    OtherOperand,
    OtherOperator,
    Passed,
    PassedArgument,
    PassedNumber,
    PassedSize,
    PassedTensor,
    SecondCondition,
)
from grader.simulator.changes import Request, argument_changes, changes_of
from grader.simulator.changes.arguments import OWN, Launched
from grader.simulator.changes.change import Change, Given
from grader.simulator.changes.everywhere import changes_everywhere
from grader.simulator.changes.forms import float_bits
from grader.simulator.changes.together import changes_together
from grader.simulator.ptx import decode, encode
from grader.simulator.ptx.code import Pool, read_code

PTX = """
.version 8.0
.target sm_90
.address_size 64
.file 1 "cuda.cu"
.visible .entry add(.param .u64 add_param_0, .param .u32 add_param_1, .param .u32 add_param_2)
{
    .reg .pred %p<2>;
    .reg .f32 %f<12>;
    .reg .b32 %r<4>;
    .reg .b64 %rd<4>;
    .loc 1 2 0
    ld.param.u64 %rd1, [add_param_0];
    ld.param.u32 %r1, [add_param_1];
    ld.param.u32 %r2, [add_param_2];
    .loc 1 3 0
    mov.u32 %r3, %tid.x;
    setp.ge.s32 %p1, %r3, %r1;
    @%p1 bra $L_end;
    .loc 1 4 0
    mul.wide.s32 %rd2, %r3, 4;
    add.s64 %rd3, %rd1, %rd2;
    ld.global.f32 %f1, [%rd3];
    .loc 1 5 0
    mul.f32 %f2, %f1, 0f40000000;
    add.f32 %f3, %f2, %f1;
    st.global.f32 [%rd3], %f3;
$L_end:
    ret;
}
"""
BLOB = encode(decode(PTX))
CODE = read_code(BLOB)
CHANGES = list(changes_of(0, CODE, CODE.functions[0]))
ROWS, COLUMNS, THREAD = (
    KernelValue("argument", 1),
    KernelValue("argument", 2),
    KernelValue("index", register="%tid.x"),
)
GREATER = Operation("gt", "s32")
BOUND = next(one for one in CHANGES if one.changed.after == GREATER)
"""`>` in the place of `>=`."""


def test_a_program_that_is_read_back_has_the_words_that_were_written() -> None:
    pool = Pool(CODE)
    (function,) = decode(PTX).functions
    words = [word for one in CODE.functions[0].instructions for word in pool.words(one)]
    assert words == list(function.code)
    assert not pool.strings
    assert not pool.constants


@given(st.integers(0, len(BLOB) - 1), st.integers(0, 255))
def test_bytes_that_are_no_program_are_refused(at: int, byte: int) -> None:
    for wrong in (BLOB[:at], BLOB[:at] + bytes([byte]) + BLOB[at + 1 :]):
        try:
            read_code(wrong)
        except ValueError:
            continue


@pytest.mark.parametrize(
    ("line", "changed"),
    [
        (3, OtherComparison(Operation("ge", "s32"), GREATER)),
        (3, FixedGuard("bra", "never")),
        (3, OtherOperand(ROWS, COLUMNS)),
        (5, OtherConstant("2", "0.5")),
        (5, OtherOperator(Operation("add", "f32"), Operation("sub", "f32"))),
        (5, OtherOperator(Operation("add", "f32"), "the first operand alone")),
        (5, OneMoreStep(KernelValue("line", 5, nth=2, named=False), Operation("sqrt", "f32"))),
        (3, SecondCondition(THREAD, Operation("lt", "s32", values=(COLUMNS,)))),
    ],
)
def test_each_thing_of_a_line_has_others_in_its_place(line: int, changed: Changed) -> None:
    assert (line, changed) in {(change.line, change.changed) for change in CHANGES}


def test_the_same_change_of_two_lines_is_one_change_more() -> None:
    first = BOUND
    second = replace(first, line=first.line + 1, edits=((first.edits[0][0] + 1, ()),))
    (both,) = changes_everywhere([second, first])
    assert (both.line, both.also) == (first.line, (second.line,))
    assert both.edits == (*first.edits, *second.edits)
    assert not list(changes_everywhere([first, replace(first, line=9)]))


def test_two_values_that_take_each_others_place_are_one_change() -> None:
    compares = next(i for i in CODE.functions[0].instructions if i.opcode.startswith("setp"))
    at = CODE.functions[0].instructions.index(compares)
    _, left, right = compares.operands
    turned = replace(compares, operands=(compares.operands[0], right, left))
    single = [
        Change("", 3, changed, 0, 0, ((at, (replace(compares, operands=given),)),))
        for changed, given in (
            (OtherOperand(ROWS, COLUMNS), (compares.operands[0], right, right)),
            (OtherOperand(COLUMNS, ROWS), (compares.operands[0], left, left)),
        )
    ]
    (both,) = changes_together(single, CODE.functions[0].instructions, nested=0)
    assert both.edits == ((at, (turned,)),)
    assert both.changed in {
        OtherOperand(ROWS, COLUMNS, both=True),
        OtherOperand(COLUMNS, ROWS, both=True),
    }
    assert both.also == ()


def test_what_a_function_lacks_that_was_put_into_its_caller_comes_by_the_call() -> None:
    inlined = PTX.replace(
        ".loc 1 3 0", ".loc 1 9 0\n    .loc 1 3 0, function_name $L_f, inlined_at 1 9 0"
    )
    code = read_code(encode(decode(inlined)))
    lines = {one.changed: one.line for one in changes_of(0, code, code.functions[0])}
    assert lines[OtherOperand(ROWS, COLUMNS)] == 9
    assert lines[BOUND.changed] == 3


def changes_of_line(text: str, line: int) -> list[Change]:
    """Return the changes of a line of `PTX` with other lines in the place of its computation."""
    computed = PTX[PTX.index("    mul.f32 %f2") : PTX.index("    st.global.f32")]
    code = read_code(encode(decode(PTX.replace(computed, text))))
    return [one for one in changes_of(0, code, code.functions[0]) if one.line == line]


def test_what_a_line_says_twice_is_changed_at_each_place_alone_too() -> None:
    twice = "add.f32 %f2, %f1, %f1; mul.f32 %f3, %f1, %f2; mul.f32 %f3, %f1, %f2;\n"
    found = changes_of_line(twice, 5)
    exchanged = {tuple(at for at, _ in one.edits) for one in found if one.kind == "operand"}
    last = max(max(ats) for ats in exchanged)
    assert (last - 1, last) in exchanged
    assert {(last - 1,), (last,)} <= exchanged


def test_what_a_function_became_in_each_place_that_it_was_put_into_is_changed_together() -> None:
    calls = "".join(
        f".loc 1 {line} 0\n ld.global.f32 %f{line}, [%rd3];\n"
        f".loc 1 2 0, function_name $L_f, inlined_at 1 {line} 0\n add.f32 %f{line + 4}, %f{line}, 0f3F800000;\n"
        for line in (6, 7)
    ).replace("%f6, [%rd3]", "%f6, [%rd1]")
    changed = [one for one in changes_of_line(calls, 2) if one.kind == "constant"]
    assert changed
    assert all(len(one.edits) == 2 for one in changed)


def test_a_second_condition_is_joined_to_the_first() -> None:
    change = next(one for one in CHANGES if one.kind == "condition")
    ((at, (old, second, joined)),) = change.edits
    assert old == CODE.functions[0].instructions[at]
    assert joined.operands[:2] == (old.operands[0], old.operands[0])
    assert joined.operands[2] == second.operands[0]


def test_what_decides_which_elements_are_taken_comes_first() -> None:
    launch = Launched("add", (8, 4, 4), (1 << 41, 5, 5), (0, -2, -2), (1, 1, 1))
    by_kind = {
        name: {one for one in CHANGES if Concerns(known, [CODE], [launch], ["input 1"]).of(one)}
        for name, known in {
            "index": Leads(tensors=frozenset({"input 1"})),
            "formula": Leads(values=True),
        }.items()
    }
    halved = next(c for c in CHANGES if c.changed == OtherConstant("2", "0.5"))
    assert BOUND in by_kind["index"]
    assert halved in by_kind["formula"] - by_kind["index"]


def test_a_change_is_told_as_words_in_the_place_of_others() -> None:
    told = Request((CODE,), (BOUND,)).to_guest([None], 1.0)
    assert isinstance(told, dict)
    ((changed,), tables) = told["changes"], told["tables"]
    assert (changed["code"], len(changed["edits"])) == ("0.0", 1)
    assert tables == [[["setp.gt.s32"], []]]


LAUNCH = {
    "kernel": "rows",
    "sizes": [8, 8, 4, 4],
    "values": [1 << 40, 1 << 41, 6, float_bits(0.25)],
    "memory": [0, -1, -2, -2],
    "blocks": [4, 1, 1],
}
TOLD: JsonValue = {"tensors": [{"name": "input 1", "shape": [4, 6]}], "launches": [LAUNCH]}


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ((0, 1), PassedArgument(1), ((0, 0, 0, 1, 0), (0, 1, 0, 0, 0))),
        ((1,), PassedTensor("input 1", (0, 1)), ((0, 1, OWN, 0, (0, 1, 0)),)),
        ((2,), PassedSize("input 1", 0, 0), ((0, 2, OWN, 0, 4),)),
        ((2,), PassedSize("input 1", 0, 1), ((0, 2, OWN, 0, 24), (0, GRID, OWN, 0, 1))),
        ((3,), PassedNumber("sqrt(x)"), ((0, 3, OWN, 0, float_bits(0.5)),)),
    ],
)  # fmt: skip
def test_a_launch_could_be_given_what_there_is_and_what_follows_from_it(
    before: tuple[int, ...], after: Passed, expected: tuple[Given, ...]
) -> None:
    found = argument_changes(TOLD, frozenset({("rows", 3)}), {})
    assert expected in [c.given for c in found if c.changed == OtherArgument(before, after)]


LOOP = """
.version 8.0
.target sm_90
.address_size 64
.file 1 "cuda.cu"
.visible .entry last(.param .u64 last_param_0)
{
    .reg .pred %p<2>;
    .reg .f32 %f<12>;
    .reg .b64 %rd<2>;
    .loc 1 2 0
    ld.param.u64 %rd1, [last_param_0];
    .loc 1 3 0
    mov.f32 %f1, 0f00000000;
$again:
    .loc 1 5 0
    ld.f32 %f2, [%rd1];
    .loc 1 4 0
    mov.f32 %f1, %f2;
    setp.lt.f32 %p1, %f1, 0f00000000;
    @%p1 bra $again;
    .loc 1 6 0
    st.f32 [%rd1], %f1;
    ret;
}
"""


def test_what_a_loop_sets_anew_could_be_added_to_what_it_was() -> None:
    code = read_code(encode(decode(LOOP, "cuda.cu")))
    added = AddedToOld(KernelValue("line", 3), Operation("add", "f32"))
    found = {one.changed: one for one in changes_of(0, code, code.functions[0])}
    change = found[added]
    ((_, (instruction,)),) = change.edits
    assert (change.line, instruction.opcode) == (5, "add.f32")
    assert instruction.operands[0] == instruction.operands[1]
