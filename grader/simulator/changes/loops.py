"""In how many loops each instruction of a function stands: how often it runs, as far as the code alone tells."""

from __future__ import annotations

from collections.abc import Sequence

from grader.simulator.ptx.code import Instruction


def loop_depths(code: Sequence[Instruction]) -> list[int]:
    """Return for each position how many loops it stands in; a loop goes from a label to the last jump back to it."""
    labels = {i.operands[0].value: at for at, i in enumerate(code) if not i.opcode}
    ends: dict[int, int] = {}
    for at, instruction in enumerate(code):
        for operand in instruction.operands if instruction.opcode.startswith("bra") else ():
            begin = labels.get(operand.value, at) if operand.kind == "label" else at
            if begin < at:
                ends[begin] = at
    return [sum(begin <= at <= end for begin, end in ends.items()) for at in range(len(code))]
