"""The number that a change puts into a formula, and the same change with another number."""

from __future__ import annotations

from dataclasses import replace

from grader.records.changes import Changed, OneMoreStep, OtherConstant
from grader.simulator.changes.change import Change
from grader.simulator.changes.forms import float_bits, float_of
from grader.simulator.ptx.code import Instruction, Operand

SHORT, LONG = 4, 7
"""Digits of a number as a person writes it, and as a float holds it."""
SAME = 2e-6
"""How far a number may be from a shorter one that is meant, of itself."""
_NO_STEP = {"mul": 1.0, "add": 0.0}
"""With which number a step does nothing."""


def numbers_of(change: Change) -> tuple[float, float] | None:
    """Return the number that is there without a change of floats, and with it; None where it puts none there."""
    match change.changed:
        case OtherConstant(before=before, after=after) if _bits_in(change, after):
            return float(before), float(after)
        case OneMoreStep(after=step) if step.name in _NO_STEP and _bits_in(change, step.number):
            return _NO_STEP[step.name], float(step.number)
    return None


def with_number(change: Change, number: float) -> Change:
    """Return a change that puts a number into a formula with another one; raises ValueError where it puts none there."""
    known = numbers_of(change)
    if known is None:
        raise ValueError("the change puts no number into a formula")
    text = f"{number:.{SHORT}g}"
    text = text if abs(float(text) - number) <= SAME * abs(number) else f"{number:.{LONG}g}"
    old, new = (float_bits(one) for one in (known[1], float(text)))
    edits = tuple((at, tuple(_with_bits(i, old, new) for i in made)) for at, made in change.edits)
    return replace(change, edits=edits, changed=_say(change.changed, text))


def without_number(change: Change) -> tuple[object, ...]:
    """Return what a change is in the source, whatever number it puts there."""
    return replace(change, changed=_say(change.changed, "")).key


def _say(changed: Changed, number: str) -> Changed:
    match changed:
        case OtherConstant():
            return replace(changed, after=number)
        case OneMoreStep(after=step):
            return replace(changed, after=replace(step, number=number))
    return changed


def _bits_in(change: Change, number: str) -> bool:
    """Whether a change puts these bits into an instruction as a float."""
    made = (one for _, new in change.edits for i in new for one in i.operands if one.kind == "f32")
    return bool(number) and any(float_of(one.value) == float_of(float_bits(float(number))) for one in made)  # fmt: skip


def _with_bits(instruction: Instruction, old: int, new: int) -> Instruction:
    def with_new(one: Operand) -> Operand:
        return replace(one, value=new) if one.kind == "f32" and one.value == old else one

    return replace(instruction, operands=tuple(map(with_new, instruction.operands)))
