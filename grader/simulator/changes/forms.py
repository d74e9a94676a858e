"""Alternatives of an instruction or a value: opcodes of the same form, other forms, one more operator."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence

from grader.records.changes import KernelValue, Operation, Part
from grader.simulator.changes.register_kinds import base
from grader.simulator.changes.values import Value
from grader.simulator.ptx.code import Instruction, Operand

SUBJECT = Operand("subject")
"""Stands for the value that a step is put around."""
Step = tuple[str, tuple[Operand | Value, ...]]
"""An opcode and its operands."""
Form = tuple[tuple[str, tuple[Operand | int, ...]], ...]
"""Instructions, the operands of which are new or have a number among those of the one that they replace; an empty
opcode is its own."""
_COMPARED = {
    "lt": ("le", "gt", "ge", "ne"),
    "le": ("lt", "ge", "gt", "eq"),
    "gt": ("ge", "lt", "le", "ne"),
    "ge": ("gt", "le", "lt", "eq"),
    "eq": ("ne", "le", "ge"),
    "ne": ("eq", "lt", "gt"),
}
_COMPARED |= {f"{a}u": tuple(f"{b}u" for b in others) for a, others in _COMPARED.items()}
FLOAT_OPERATORS = ("add.f32", "sub.f32", "mul.f32", "div.rn.f32", "max.f32", "min.f32")
INT_OPERATORS = ("mul.lo.s32", "add.s32", "div.s32", "rem.s32", "sub.s32", "min.s32", "max.s32")
WIDE_OPERATORS = tuple(one.replace("32", "64") for one in INT_OPERATORS)
_KIN = tuple(
    map(
        frozenset,
        (
            ("add", "sub"),
            ("add", "mul"),
            ("mul", "div"),
            ("div", "rem"),
            ("max", "min"),
            ("and", "or"),
        ),
    )
)
"""Operators that are confused with each other."""
SELDOM = frozenset(("rem", "mad", "if", "unless", "exp", "log", "max"))
"""Steps that are seldom missing: at most one in a hundred defects."""
_FUNCTIONS = ("sqrt.rn.f32", "rsqrt.approx.f32", "rcp.rn.f32", "abs.f32", "neg.f32", "mov.f32")
_POWERS = ("ex2.approx.f32", "lg2.approx.f32")
_LOG2_E, _LN_2 = 1.4426950408889634, 0.6931471805599453
NUMBERS = (
    *(0.0, 1.0, -1.0, 0.5, 2.0, -0.5, -2.0, _LOG2_E, _LN_2, 0.7071067811865476),
    *(0.7978845608028654, 0.044715, 1e-5, 1e-6, 1e-8, float("inf"), float("-inf")),
)
"""Constants of formulas."""


def float_bits(value: float) -> int:
    """Return a number as the bits of a float."""
    bits: int = struct.unpack("<I", struct.pack("<f", value))[0]
    return bits


def float_of(bits: int) -> float:
    """Return the number that a float's bits are."""
    (value,) = struct.unpack("<f", struct.pack("<I", bits & 0xFFFFFFFF))
    return float(value)


FILLERS = (float_bits(0.0), float_bits(float("-inf")))
"""Values for masked elements."""
HALVES = (float_bits(0.5), float_bits(2.0))
NO_FACTOR = frozenset(map(float_bits, (0.0, 1.0, float("inf"), float("-inf"))))
"""Numbers that are no factors: the result would be constant, or unchanged."""
PLAIN = frozenset(map(float_bits, (0.0, 1.0, 2.0, 0.5, float("inf"))))


def show_constant(operand: Operand) -> str:
    """Return a constant as written in source code."""
    if operand.kind == "f32":
        return f"{float_of(operand.value):.7g}"
    value = operand.value & 0xFFFFFFFFFFFFFFFF
    return str(value - (1 << 64) * (value >> 63))


def are_akin(one: str, other: str) -> bool:
    """Whether two operators are easily confused; that another one is right too would be chance."""
    names = {one.partition(".")[0], other.partition(".")[0]}
    kin = [group for group in _KIN if names & group]
    return not kin or any(names <= group for group in kin)


def operation(opcode: str, number: str = "", values: tuple[KernelValue, ...] = ()) -> Operation:
    """Return what an opcode does; of a comparison its sign, whatever it answers for what is no number."""
    name, *others = opcode.split(".")
    if name == "setp" and others:
        name = others[0].rstrip("u")
    return Operation(name, others[-1] if others else "", number, values)


def other_opcodes(instruction: Instruction) -> Iterator[str]:
    """Yield opcodes of the same form."""
    words = instruction.opcode.split(".")
    if words[0] == "setp" and len(words) > 2:
        for other in _COMPARED.get(words[1], ()):
            yield ".".join([words[0], other, *words[2:]])
    for family in (FLOAT_OPERATORS, (*_FUNCTIONS, *_POWERS), INT_OPERATORS, WIDE_OPERATORS):
        if _is_of(words, family):
            yield from (o for o in family if o.partition(".")[0] != words[0])
    if words[0] in ("and", "or"):
        yield ".".join(["or" if words[0] == "and" else "and", *words[1:]])
    if words[0] in ("cvt", "ld") and words[-1] in ("s8", "u8", "s16", "u16", "s32", "u32"):
        signed = "u" if words[-1][0] == "s" else "s"
        yield ".".join([*words[:-1], signed + words[-1][1:]])


def _is_of(words: Sequence[str], family: Sequence[str]) -> bool:
    names = {(one.split(".")[0], one.split(".")[-1]) for one in family}
    last = words[-1].replace("u", "s").replace("b", "s")
    whole = words[0] == "mov" or "wide" in words or "hi" in words
    return not whole and (words[0], last) in names


def other_forms(instruction: Instruction, spare: Operand) -> Iterator[tuple[Part, Form]]:
    """Yield alternatives of a sum or product: without a part, reversed, or with a part subtracted."""
    if instruction.opcode.endswith("f32"):
        yield from _of_floats(base(instruction), spare)
    elif instruction.opcode.endswith(("s32", "u32", "s64", "u64", "b32", "b64")):
        yield from _of_ints(instruction)


def _of_floats(name: str, spare: Operand) -> Iterator[tuple[Part, Form]]:
    if name == "fma":
        yield "the product subtracted", (("neg.f32", (spare, 1)), ("", (0, spare, 2, 3)))
        yield "the sum subtracted", (("neg.f32", (spare, 3)), ("", (0, 1, 2, spare)))
        yield from _parts("f32", "mul.f32")
    elif name in ("add", "sub", "mul", "div", "max", "min"):
        yield from _one_of_two("f32")
        if name in ("sub", "div"):
            yield "them exchanged", (("", (0, 2, 1)),)


def _of_ints(instruction: Instruction) -> Iterator[tuple[Part, Form]]:
    """Yield the alternatives for integers; a shift is a product by a power of two."""
    name, kind = base(instruction), instruction.opcode.rpartition(".")[2].replace("b", "s")
    if instruction.opcode.startswith("mad.lo"):
        yield from _parts(kind, f"mul.lo.{kind}")
    elif instruction.opcode.startswith(("mul.lo", "add.", "div.", "rem.", "sub.")):
        yield from _one_of_two(kind)
        # small numbers are not divided by a size: the result would be zero
        if name == "sub" or (name in ("div", "rem") and instruction.operands[2].kind != "int"):
            yield "them exchanged", (("", (0, 2, 1)),)
    elif name == "shl" and instruction.operands[-1].kind == "int":
        power = Operand("int", 1 << (instruction.operands[-1].value & 31))
        yield "the first operand alone", ((f"mov.{_type_of_move(kind)}", (0, 1)),)
        yield "the second operand alone", ((f"mov.{_type_of_move(kind)}", (0, power)),)


def _parts(kind: str, product: str) -> Iterator[tuple[Part, Form]]:
    """Yield a multiply-add without one of its parts."""
    yield "them without the sum", ((product, (0, 1, 2)),)
    yield "them without a factor", ((f"add.{kind}", (0, 1, 3)),)
    yield "them without the other factor", ((f"add.{kind}", (0, 2, 3)),)
    yield "them without the product", ((f"mov.{_type_of_move(kind)}", (0, 3)),)


def _one_of_two(kind: str) -> Iterator[tuple[Part, Form]]:
    yield "the first operand alone", ((f"mov.{_type_of_move(kind)}", (0, 1)),)
    yield "the second operand alone", ((f"mov.{_type_of_move(kind)}", (0, 2)),)


def _type_of_move(kind: str) -> str:
    return kind if kind == "f32" else f"b{kind[1:]}"


def around_float(f32: Operand) -> Iterator[tuple[Operation, tuple[Step, ...]]]:
    """Yield the functions that may be missing around a float; each leaves its result in a register."""
    for opcode in _FUNCTIONS[:5]:
        yield operation(opcode), ((opcode, (f32, SUBJECT)),)
    yield Operation("square", "f32"), (("mul.f32", (f32, SUBJECT, SUBJECT)),)
    log2_e, ln_2 = (Operand("f32", float_bits(number)) for number in (_LOG2_E, _LN_2))
    yield (
        Operation("exp", "f32"),
        (("mul.f32", (f32, SUBJECT, log2_e)), ("ex2.approx.f32", (f32, f32))),
    )
    yield (
        Operation("log", "f32"),
        (("lg2.approx.f32", (f32, SUBJECT)), ("mul.f32", (f32, f32, ln_2))),
    )
    yield Operation("max", "f32", "0"), (("max.f32", (f32, SUBJECT, Operand("f32"))),)
