"""Loop depth of each instruction of a function, as an estimate of how often it runs."""

from __future__ import annotations

from collections.abc import Sequence

from grader.simulator.ptx.code import Instruction


def loop_depths(code: Sequence[Instruction]) -> list[int]:
    """Return the loop depth of each position; a loop goes from a label to the last jump back to it."""
    labels = {i.operands[0].value: at for at, i in enumerate(code) if not i.opcode}
    ends: dict[int, int] = {}
    for at, instruction in enumerate(code):
        for operand in instruction.operands if instruction.opcode.startswith("bra") else ():
            begin = labels.get(operand.value, at) if operand.kind == "label" else at
            if begin < at:
                ends[begin] = at
    return [sum(begin <= at <= end for begin, end in ends.items()) for at in range(len(code))]
