"""Loop-carried values that are overwritten where they may have to be accumulated."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from grader.records.changes import AddedToOld, KernelValue, Operation
from grader.simulator.changes.change import Change, Edits
from grader.simulator.changes.register_kinds import base
from grader.simulator.changes.values import Values
from grader.simulator.ptx.code import Instruction, Operand

_OPERATORS = ("add", "max", "min", "mul")


def carried_changes(
    program: int, values: Values, places: tuple[tuple[str, int], ...]
) -> Iterator[Change]:
    """Yield changes of the value copied into a loop variable at the end of an iteration: added to its old value, and so on."""
    for (begun, made), copies in _copies(values).items():
        where = places[values.function.instructions[copies[0]].location][0] or _file(values, places)
        for name in _OPERATORS:
            edits: Edits = tuple((at, (_add_to_old(values, at, f"{name}.f32"),)) for at in copies)
            added = AddedToOld(KernelValue("line", begun), Operation(name, "f32"))
            yield Change(where, made, added, program, values.function.number, edits)


def _file(values: Values, places: tuple[tuple[str, int], ...]) -> str:
    named = (places[i.location][0] for i in values.function.instructions if i.opcode)
    return next((file for file in named if file), "")


def _copies(values: Values) -> dict[tuple[int, int], list[int]]:
    """Return the copies into initialised values, by the lines of the initialisation and of the copied value."""
    into: dict[int, list[int]] = defaultdict(list)
    for at, instruction in enumerate(values.function.instructions):
        if base(instruction) == "mov" and len(instruction.operands) == 2:
            into[instruction.operands[0].value].append(at)
    found: dict[tuple[int, int], list[int]] = defaultdict(list)
    for register, (first, *later) in into.items():
        for at in later if values.kind(register) == "float" else ():
            source = values.function.instructions[at].operands[1]
            if source.kind == "reg" and source.value != register:
                lines = values.line_made(first), values.line_made(at)
                if all(lines):
                    found[lines].append(at)
    return found


def _add_to_old(values: Values, at: int, opcode: str) -> Instruction:
    copy = values.function.instructions[at]
    own, new = copy.operands
    return Instruction(opcode, (own, Operand("reg", own.value), new), copy.guard, copy.location)
