"""The changes of a function: of comparisons, operators, constants, operands and conditions, and of single values."""

from __future__ import annotations

import struct
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from grader.simulator.changes.change import Change, Edits, spare
from grader.simulator.changes.values import Path, Value, Values, base, split
from grader.simulator.ptx.code import Code, Function, Instruction, Operand

_COMPARED = {
    "lt": ("le", "gt", "ge", "ne"),
    "le": ("lt", "ge", "gt", "eq"),
    "gt": ("ge", "lt", "le", "ne"),
    "ge": ("gt", "le", "lt", "eq"),
    "eq": ("ne", "le", "ge"),
    "ne": ("eq", "lt", "gt"),
}
_COMPARED |= {f"{a}u": tuple(f"{b}u" for b in others) for a, others in _COMPARED.items()}
_FLOAT_OPERATORS = ("add.f32", "sub.f32", "mul.f32", "div.rn.f32", "max.f32", "min.f32")
_FUNCTIONS = ("sqrt.rn.f32", "rsqrt.approx.f32", "rcp.rn.f32", "abs.f32", "neg.f32", "mov.f32", "ex2.approx.f32", "lg2.approx.f32")
_INT_OPERATORS = ("add.s32", "sub.s32", "mul.lo.s32", "div.s32", "rem.s32", "min.s32", "max.s32")
_BITS = ("and", "or", "xor")
_NUMBERS = (0.0, 1.0, -1.0, 0.5, 2.0, -0.5, -2.0, 1.4426950408889634, 0.6931471805599453, 0.7071067811865476,
            0.7978845608028654, 0.044715, 1e-5, 1e-6, 1e-8, float("inf"), float("-inf"))  # fmt: skip
MOST_SIBLINGS = 14
MOST_FACTORS = 8


def float_bits(value: float) -> int:
    """Return a number as the bits of a float."""
    bits: int = struct.unpack("<I", struct.pack("<f", value))[0]
    return bits


def changes_of(program: int, code: Code, function: Function, numbers: Sequence[float] = ()) -> Iterator[Change]:
    """Yield the changes of a function; `numbers` are those that its task knows beside the usual ones."""
    maker = _Maker(program, Values(code, function), code.places, (*_NUMBERS, *numbers))
    yield from maker.instructions()
    yield from maker.operands()
    yield from maker.around()


Steps = Callable[[int], Sequence[tuple[str, Sequence[int | Operand]]]]


class _Maker:
    def __init__(
        self, program: int, values: Values, places: Sequence[tuple[str, int]], numbers: Sequence[float]
    ) -> None:
        self._program, self._values = program, values
        self._numbers = tuple(dict.fromkeys(float_bits(number) for number in numbers))
        self._code = values.function.instructions
        self._places_of = places

    def _change(self, at: int, kind: str, before: str, after: str, edits: Edits) -> Change:
        function = self._values.function.number
        file, line = self._places_of[self._code[at].location]
        return Change(file, line, kind, before, after, self._program, function, edits)

    # Changes of instructions.

    def instructions(self) -> Iterator[Change]:
        """Yield changes of opcodes, constants and conditions."""
        for places in self._places().values():
            yield from self._opcodes(places)
            yield from self._constants(places)
            yield from self._conditions(places)

    def _places(self) -> dict[object, list[int]]:
        found: dict[object, list[int]] = defaultdict(list)
        for at, instruction in enumerate(self._code):
            if instruction.opcode and self._values.lines[at]:
                found[self._values.site(at)].append(at)
        return found

    def _opcodes(self, places: list[int]) -> Iterator[Change]:
        first = self._code[places[0]]
        for opcode, kind in _other_opcodes(first):
            edits = tuple((at, (replace(self._code[at], opcode=opcode),)) for at in places)
            yield self._change(places[0], kind, first.opcode, opcode, edits)
        for name, made in _other_forms(first, self._values):
            edits = tuple((at, tuple(made(self._code[at]))) for at in places)
            yield self._change(places[0], "operator", first.opcode, name, edits)

    def _constants(self, places: list[int]) -> Iterator[Change]:
        first = self._code[places[0]]
        operands, gives = split(first)
        for n, operand in enumerate(operands[gives:], gives):
            for bits in self._other_constants(first, operand):
                new = replace(operand, value=bits)
                edits = tuple((at, (_with(self._code[at], (n,), new),)) for at in places)
                yield self._change(places[0], "constant", _shown(operand), _shown(new), edits)

    def _other_constants(self, instruction: Instruction, operand: Operand) -> Iterator[int]:
        if operand.kind == "f32":
            negated = operand.value ^ 0x80000000
            yield from (b for b in dict.fromkeys((negated, *self._numbers)) if b != operand.value)
        elif operand.kind == "int" and base(instruction) not in ("bar", "shfl", "ld", "st", "cvt"):
            value = operand.value - (1 << 64) * (operand.value >> 63)
            for other in dict.fromkeys((value + 1, value - 1, 2 * value, value // 2, 0, 1)):
                if other != value:
                    yield other

    def _conditions(self, places: list[int]) -> Iterator[Change]:
        first = self._code[places[0]]
        if first.guard:
            always = tuple((at, (replace(self._code[at], guard=0),)) for at in places)
            yield self._change(places[0], "guard", base(first), "always", always)
            yield self._change(places[0], "guard", base(first), "never", tuple((at, ()) for at in places))
        if base(first) == "selp":
            for n in (1, 2):
                edits = tuple((at, (_moved(self._code[at], n),)) for at in places)
                yield self._change(places[0], "guard", "selp", f"always {n}", edits)

    # Changes of operands.

    def _uses(self) -> Iterator[tuple[Value, list[tuple[int, Path]]]]:
        """Yield where a line reads a value: everywhere on it, and each place by itself."""
        lines: dict[object, list[tuple[int, Path]]] = defaultdict(list)
        sites: dict[object, list[tuple[int, Path]]] = defaultdict(list)
        for at, read in enumerate(self._values.read):
            for path, leaf in read:
                value = self._values.of.get(leaf.value) if leaf.kind == "reg" else None
                if value and self._values.lines[at] and value.kind != "truth":
                    lines[self._values.lines[at], value.key].append((at, path))
                    sites[self._values.site(at), path, value.key].append((at, path))
        known = set()
        for places in (*lines.values(), *sites.values()):
            if tuple(places) not in known:
                known.add(tuple(places))
                at, path = places[0]
                yield self._values.of[_leaf(self._code[at], path).value], places

    def operands(self) -> Iterator[Change]:
        """Yield changes of a value for another of its kind."""
        for value, places in self._uses():
            for other in self._siblings(value, places)[:MOST_SIBLINGS]:
                edits = self._exchanged(value, other, places)
                yield self._change(places[0][0], "operand", value.name, other.name, edits)

    def _siblings(self, value: Value, places: list[tuple[int, Path]]) -> list[Value]:
        """Return values that could stand in the place of one, the likeliest first."""
        line, last = self._values.lines[places[0][0]], places[-1][0]
        found = [v for v in self._values.all if v.kind == value.kind and v.key != value.key]
        found = [v for v in found if v.first < last and (v.line == line or v.key in self._values.named)]
        return sorted(found, key=lambda v: (not v.simple, abs(v.line - line), v.first))

    def _exchanged(self, value: Value, other: Value, places: list[tuple[int, Path]]) -> Edits:
        """Return the edits that put each copy of another value in the place of its copy of this one."""
        edits: dict[int, Instruction] = {}
        for at, path in places:
            old = edits.get(at, self._code[at])
            leaf = _leaf(old, path)
            nth = value.registers.index(leaf.value) * len(other.registers) // len(value.registers)
            edits[at] = _with(old, path, replace(leaf, value=other.registers[nth]))
        return tuple((at, (edits[at],)) for at in sorted(edits))

    # What could be missing around a value.

    def around(self) -> Iterator[Change]:
        """Yield changes of a value by one more operator, the latest places first."""
        for value, places in sorted(self._uses(), key=lambda use: -use[1][0][0]):
            if value.kind == "float" and base(self._code[places[0][0]]) not in ("mov", "selp"):
                yield from self._around_float(value, places)
            elif value.kind == "int":
                yield from self._around_int(value, places)

    def _around_float(self, value: Value, places: list[tuple[int, Path]]) -> Iterator[Change]:
        f32 = spare(self._values.function, 32)
        for name in _FUNCTIONS[:5]:
            yield self._wrapped(value, places, name, lambda r, op=name: [(op, (f32, r))])
        yield self._wrapped(value, places, "square", lambda r: [("mul.f32", (f32, r, r))])
        yield self._wrapped(value, places, "exp", lambda r: [
            ("mul.f32", (f32, r, Operand("f32", float_bits(1.4426950408889634)))), ("ex2.approx.f32", (f32, f32))])
        yield self._wrapped(value, places, "log", lambda r: [
            ("lg2.approx.f32", (f32, r)), ("mul.f32", (f32, f32, Operand("f32", float_bits(0.6931471805599453))))])
        for bits in (0x3F000000, 0x40000000):
            number = Operand("f32", bits)
            yield self._wrapped(value, places, f"mul {_shown(number)}", lambda r, n=number: [("mul.f32", (f32, r, n))])
        for other in self._siblings(value, places)[:MOST_FACTORS]:
            for opcode in ("add.f32", "sub.f32", "mul.f32", "div.rn.f32"):
                yield self._wrapped(value, places, f"{opcode} {other.name}", lambda r, op=opcode, o=other: [
                    (op, (f32, r, self._copy(value, o, r)))])
        for other in (v for v in self._ints(places) if not v.name.startswith(("%tid", "%ctaid"))):
            yield from self._scaled(value, places, other)

    def _scaled(self, value: Value, places: list[tuple[int, Path]], other: Value) -> Iterator[Change]:
        f32, temporary = spare(self._values.function, 32), spare(self._values.function, 32, 1)
        for opcode in ("mul.f32", "div.rn.f32"):
            yield self._wrapped(value, places, f"{opcode} {other.name}", lambda r, op=opcode: [
                ("cvt.rn.f32.s32", (temporary, self._copy(value, other, r))), (op, (f32, r, temporary))])

    def _around_int(self, value: Value, places: list[tuple[int, Path]]) -> Iterator[Change]:
        s32 = spare(self._values.function, 32)
        for number in (1, -1):
            yield self._wrapped(value, places, f"add {number}", lambda r, n=number: [
                ("add.s32", (s32, r, Operand("int", n & 0xFFFFFFFFFFFFFFFF)))])
        for other in self._ints(places):
            for opcode in ("mul.lo.s32", "add.s32", "div.s32", "rem.s32", "sub.s32"):
                yield self._wrapped(value, places, f"{opcode} {other.name}", lambda r, op=opcode, o=other: [
                    (op, (s32, r, self._copy(value, o, r)))])

    def _ints(self, places: list[tuple[int, Path]]) -> list[Value]:
        last = places[-1][0]
        found = [v for v in self._values.all if v.kind == "int" and v.simple and v.first < last]
        return list({v.name: v for v in found}.values())[:MOST_FACTORS]

    def _copy(self, value: Value, other: Value, register: int) -> int:
        nth = value.registers.index(register) if register in value.registers else 0
        return other.registers[nth * len(other.registers) // len(value.registers)]

    def _wrapped(self, value: Value, places: list[tuple[int, Path]], name: str, steps: Steps) -> Change:
        """Return the change that puts what steps make of a value in its place."""
        edits: dict[int, list[Instruction]] = {}
        for at, path in places:
            old = edits.get(at, [self._code[at]])[-1]
            leaf = _leaf(old, path)
            made = [_made(old, opcode, operands) for opcode, operands in steps(leaf.value)]
            target = made[-1].operands[0]
            edits[at] = [*(edits[at][:-1] or made if at in edits else made), _with(old, path, target)]
        return self._change(places[0][0], "around", value.name, name, tuple((at, tuple(edits[at])) for at in sorted(edits)))


def _made(like: Instruction, opcode: str, operands: Sequence[int | Operand]) -> Instruction:
    given = tuple(one if isinstance(one, Operand) else Operand("reg", one) for one in operands)
    return Instruction(opcode, given, 0, like.location)


def _leaf(instruction: Instruction, path: Path) -> Operand:
    operand = instruction.operands[path[0]]
    for n in path[1:]:
        operand = operand.items[n]
    return operand


def _with(instruction: Instruction, path: Path, new: Operand) -> Instruction:
    operands = instruction.operands
    changed = _replaced(operands[path[0]], path[1:], new)
    return replace(instruction, operands=(*operands[: path[0]], changed, *operands[path[0] + 1 :]))


def _replaced(operand: Operand, path: Path, new: Operand) -> Operand:
    if not path:
        return new
    n = path[0]
    inner = _replaced(operand.items[n], path[1:], new)
    return replace(operand, items=(*operand.items[:n], inner, *operand.items[n + 1 :]))


def _moved(instruction: Instruction, source: int) -> Instruction:
    operands = (instruction.operands[0], instruction.operands[source])
    return replace(instruction, opcode=f"mov.{instruction.opcode.rpartition('.')[2]}", operands=operands)


def _shown(operand: Operand) -> str:
    if operand.kind == "f32":
        (value,) = struct.unpack("<f", struct.pack("<I", operand.value & 0xFFFFFFFF))
        return f"{value:.7g}"
    value = operand.value & 0xFFFFFFFFFFFFFFFF
    return str(value - (1 << 64) * (value >> 63))


def _other_opcodes(instruction: Instruction) -> Iterator[tuple[str, str]]:
    """Yield opcodes of the same form."""
    words = instruction.opcode.split(".")
    if words[0] == "setp" and len(words) > 2:
        for other in _COMPARED.get(words[1], ()):
            yield ".".join([words[0], other, *words[2:]]), "comparison"
    families = (_FLOAT_OPERATORS, _FUNCTIONS, _INT_OPERATORS)
    family = next((f for f in families if _is_of(words, f)), ())
    for other in family:
        if other.partition(".")[0] != words[0]:
            yield other, "operator"
    if words[0] in _BITS[:2]:
        yield ".".join([_BITS[1 - _BITS.index(words[0])], *words[1:]]), "operator"
    if words[0] == "cvt" and words[-1] in ("s8", "u8", "s16", "u16", "s32", "u32"):
        yield ".".join([*words[:-1], ("u" if words[-1][0] == "s" else "s") + words[-1][1:]]), "operator"
    if words[0] == "ld" and words[-1] in ("s8", "u8", "s16", "u16"):
        yield ".".join([*words[:-1], ("u" if words[-1][0] == "s" else "s") + words[-1][1:]]), "operator"
    if words[0] in ("atom", "red") and "add" in words:
        yield instruction.opcode.replace(".add", ".max"), "operator"


def _is_of(words: Sequence[str], family: Sequence[str]) -> bool:
    names = {(one.split(".")[0], one.split(".")[-1]) for one in family}
    last = words[-1].replace("u32", "s32").replace("b32", "s32")
    return words[0] != "mov" and (words[0], last) in names and "wide" not in words and "hi" not in words


Made = Callable[[Instruction], list[Instruction]]


def _other_forms(instruction: Instruction, values: Values) -> Iterator[tuple[str, Made]]:
    """Yield what else a product and sum, or a sum or product of two, could be."""
    if base(instruction) == "fma" and instruction.opcode.endswith("f32"):
        d, a, b, c = instruction.operands
        spare_register = Operand("reg", spare(values.function, 32))
        for name, which in (("less the product", 1), ("less the sum", 3)):
            yield name, lambda i, w=which: [
                _made(i, "neg.f32", (spare_register, i.operands[w])), _with(i, (w,), spare_register)]
        yield "without the sum", lambda i: [replace(i, opcode="mul.f32", operands=i.operands[:3])]
        yield "without a factor", lambda i: [replace(i, opcode="add.f32", operands=(i.operands[0], i.operands[1], i.operands[3]))]
        yield "without a factor 2", lambda i: [replace(i, opcode="add.f32", operands=(i.operands[0], i.operands[2], i.operands[3]))]
        yield "without the product", lambda i: [replace(i, opcode="mov.f32", operands=(i.operands[0], i.operands[3]))]
    if base(instruction) in ("add", "sub", "mul", "div", "max", "min") and instruction.opcode.endswith("f32"):
        for which in (1, 2):
            yield f"only operand {which}", lambda i, w=which: [replace(i, opcode="mov.f32", operands=(i.operands[0], i.operands[w]))]
        if base(instruction) in ("sub", "div"):
            yield "exchanged", lambda i: [replace(i, operands=(i.operands[0], i.operands[2], i.operands[1]))]
