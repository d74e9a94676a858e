"""A number that results follow in proportion is solved for, and told as a person writes it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.devices.solved import LEAST, solve_numbers
from grader.judge.inputs import Array
from grader.records.changes import KernelValue, OneMoreStep, Operation, OtherConstant
from grader.simulator.changes.change import Change
from grader.simulator.changes.forms import float_bits
from grader.simulator.changes.numbered import numbers_of, with_number
from grader.simulator.ptx.code import Instruction, Operand

VALUES = np.linspace(-3.0, 2.0, 10)
ALL, NONE = np.ones(10, bool), np.zeros(10, bool)


def made_change(changed: OtherConstant | OneMoreStep, number: float) -> Change:
    """Return a change that multiplies a register by a number."""
    operands = (Operand("reg", 4), Operand("reg", 3), Operand("f32", float_bits(number)))
    return Change("cuda.cu", 7, changed, 0, 0, ((5, (Instruction("mul.f32", operands),)),))


DOUBLED = made_change(OneMoreStep(KernelValue("line", 7), Operation("mul", "f32", "2")), 2.0)
CONSTANT = made_change(OtherConstant("0.5", "1"), 1.0)


def solved(change: Change, before: Array, after: Array, wanted: Array, right: Array = NONE) -> list[str]:  # fmt: skip
    """Return the numbers that are solved for."""
    found = solve_numbers([change], [np.stack([before, after])], [wanted], [~right], [right])
    return [f"{numbers[1]:.7g}" for one in found if (numbers := numbers_of(one))]


def test_a_factor_that_is_missing_is_told_by_what_a_factor_of_two_makes() -> None:
    before = np.expm1(VALUES)
    assert solved(DOUBLED, before, 2 * before, 1.6732632423543772 * before) == ["1.673263"]


@given(st.floats(-100, 100).filter(lambda number: abs(number) > 0.01))
def test_a_constant_is_told_by_what_another_one_makes(meant: float) -> None:
    numbers = solved(CONSTANT, VALUES + 0.5 * VALUES**2, VALUES + VALUES**2, VALUES + meant * VALUES**2)  # fmt: skip
    near = min(abs(meant - 0.5), abs(meant - 1.0)) < 1e-3
    assert near or [float(one) for one in numbers] == [pytest.approx(meant, rel=1e-5)]


def test_elements_that_ask_for_different_numbers_ask_for_none() -> None:
    assert not solved(DOUBLED, VALUES, 2 * VALUES, VALUES**2)


def test_right_elements_stay_as_they_are() -> None:
    right = VALUES > 0
    wanted = np.where(right, VALUES, 3 * VALUES)
    assert not solved(DOUBLED, VALUES, 2 * VALUES, wanted, right)
    assert solved(DOUBLED, VALUES, np.where(right, VALUES, 2 * VALUES), wanted, right) == ["3"]


def test_few_elements_ask_for_nothing() -> None:
    few = ALL.copy()
    few[: LEAST - 1] = False
    assert not solved(DOUBLED, VALUES, 2 * VALUES, 3 * VALUES, few)


def test_the_change_puts_in_what_it_says() -> None:
    change = with_number(DOUBLED, 0.044715)
    ((_, (instruction,)),) = change.edits
    assert instruction.operands[2].value == float_bits(0.044715)
    assert numbers_of(change) == (1.0, 0.044715)
