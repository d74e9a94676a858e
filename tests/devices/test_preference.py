"""Of several changes that are right, the likelier cause is told; where a function's code repeats is read from its jumps."""

from __future__ import annotations

from dataclasses import replace

from grader.devices.change_search import name_in_text
from grader.devices.preference import Doubt, count_ways, doubt, step_of
from grader.records.changes import KernelValue, OneMoreStep, Operation, OtherOperand, OtherOperator
from grader.simulator.changes import Change
from grader.simulator.changes.host import host_changes
from grader.simulator.changes.loops import loop_depths
from grader.simulator.ptx.code import Instruction, Operand

SIZE = KernelValue("argument", 2)
BY_SIZE = OneMoreStep(KernelValue("line", 18), Operation("div", "f32", values=(SIZE,)))
STEP = Change("k.cu", 20, BY_SIZE, 0, 0, ())
HOST = """
class ModelNew:
    def forward(self, x, w):
        y = torch.empty_like(x)
        kernel[(4,)](x, y)
        z = x @ w
        a, b = self.ops.both(x)
        return {}
"""


def test_one_step_at_several_values_is_one_way() -> None:
    copied = Operation("div", "f32", values=(replace(SIZE, nth=3, named=False),))
    later = replace(STEP, line=27, changed=OneMoreStep(KernelValue("line", 25, nth=4), copied))
    scaled = Operation("mul", "f32", values=(SIZE,))
    other = replace(STEP, changed=replace(BY_SIZE, after=scaled))
    assert step_of(STEP) == step_of(later) != step_of(other)
    assert count_ways([STEP, later, other]) == 2


def test_what_is_left_out_or_of_several_lines_is_doubtful() -> None:
    assert doubt(STEP, None, turned=False) == Doubt.NONE
    assert doubt(replace(STEP, also=(30,)), None, turned=False) == Doubt.SEVERAL
    left_out = replace(
        STEP, changed=OtherOperator(Operation("add", "f32"), "the second operand alone")
    )
    assert doubt(left_out, None, turned=False) == Doubt.SEVERAL
    exchanged = replace(STEP, changed=OtherOperand(SIZE, replace(SIZE, number=3), both=True))
    assert doubt(exchanged, None, turned=False) < doubt(exchanged, None, turned=True)


def doubt_of_scaling(returned: str, after: str) -> Doubt:
    changes = host_changes(HOST.format(returned), "")
    return next(doubt(one, None, turned=False) for one in changes if one.changed.after == (after,))


def test_the_host_makes_up_only_for_what_it_computes_nothing_of_itself() -> None:
    assert doubt_of_scaling("y", "y / x.numel()") == Doubt.MAKES_UP
    assert doubt_of_scaling("y", "1 / y") == Doubt.UNSURE
    assert doubt_of_scaling("z", "z / x.numel()") == Doubt.UNSURE
    assert doubt_of_scaling("self.ops.run(x)", "self.ops.run(x) / x.numel()") == Doubt.MAKES_UP
    assert doubt_of_scaling("a", "a / x.numel()") == Doubt.MAKES_UP
    assert doubt_of_scaling("y.sum()", "y.sum() / x.numel()") == Doubt.UNSURE


def test_instances_of_a_template_have_one_name_in_the_text() -> None:
    names = {name_in_text(f"_Z13linear_kernelILb{n}EEvPKfPf") for n in (0, 1)}
    assert names == {"_Z13linear_kernel"}
    assert name_in_text("_ZN12_GLOBAL__N_16kernelEPf") == "_ZN12_GLOBAL__N_16kernel"
    assert name_in_text("_softmax_kernel") == "_softmax_kernel"


def test_code_between_a_label_and_the_jump_back_to_it_is_a_loop() -> None:
    outer, inner, end = (Operand("label", n) for n in range(3))
    label, jump = Instruction, Instruction
    code = [
        label("", (outer,)),
        label("", (inner,)),
        jump("bra", (inner,)),
        jump("bra", (end,)),
        jump("bra", (outer,)),
        label("", (end,)),
    ]
    assert loop_depths(code) == [1, 2, 2, 1, 1, 0]
