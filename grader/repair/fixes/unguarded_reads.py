"""The fix of accesses to global memory at coordinates that are not compared with the tensor's sizes."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement, islice
from math import prod

from tree_sitter import Node

from grader.records import Context, Edit, Finding, Fix
from grader.repair.fixes.maker import FixMaker
from grader.source import Kernel, Source, Unit
from grader.source.analysis.cases import cases
from grader.source.code_edits import fix
from grader.source.cpp_reading import read_call
from grader.source.definitions import definitions
from grader.source.flow import Tensor
from grader.source.indices import Coordinate, Reader, bare, comparisons
from grader.source.nodes import around, descendants, text
from grader.source.rewriting.launch_arguments import element_type
from grader.source.statements import simple_statement

_NAME = re.compile(r"\w+")
ZERO = {"float": "0.0f", "double": "0.0", "int": "0", "int64_t": "0", "long": "0"}


EXTREMES = {
    frozenset({"fmaxf", "fmax", "max"}): "-INFINITY",
    frozenset({"fminf", "fmin", "min"}): "INFINITY",
}


@dataclass(frozen=True)
class Launched:
    """One launch's integers, and the number of elements of each of its tensors."""

    numbers: dict[str, int]
    elements: dict[str, int]


@dataclass(frozen=True)
class Access:
    """One access of a kernel to a tensor parameter."""

    unit: Unit
    kernel: Kernel
    node: Node
    """`x[i]`, or the call of `__ldg`."""
    pointer: str
    """The parameter that the tensor came as."""
    coordinates: tuple[Coordinate, ...]
    launches: tuple[Launched, ...]

    @property
    def reads(self) -> bool:
        """Whether it is a plain read, which a value can replace."""
        parent = self.node.parent
        if parent is None or parent.type in {"pointer_expression", "update_expression"}:
            return False
        target = parent.child_by_field_name("left") == self.node
        return not target or parent.type != "assignment_expression"

    @property
    def conditions(self) -> tuple[str, ...]:
        """Known conditions for staying inside the tensor that are not yet checked."""
        found = [words for one in self.coordinates for words in self._bounds_asked(one)]
        known = _held_comparisons(self.node)
        return tuple(dict.fromkeys(words for words in found if words not in known))

    def _bounds_asked(self, one: Coordinate) -> Iterator[str]:
        if one.literal:
            return
        made = Reader(self.kernel).made_of(one.words)
        size = one.size or self._outermost(one)
        if size and ("-" in one.words or (made is not None and "-" in text(made))):
            yield f"{one.words} >= 0"
        if size:
            yield f"{one.words} < {size}"

    def _outermost(self, one: Coordinate) -> str:
        """Return what the outermost coordinate stays below: what of the kernel's integers makes up the tensor."""
        compared = [b for a, b in comparisons(self.kernel.node) if a == one.words]
        if not any(self.pointer in launch.elements for launch in self.launches):
            return next((b for b in compared if not b.isdigit()), "")
        sizes = sorted(Reader(self.kernel).sizes)
        single = [name for name in (*compared, *sizes) if name in sizes]
        pairs = [" * ".join(pair) for pair in combinations_with_replacement(sizes, 2)]
        fitting = (words for words in (*single, *pairs) if self._fits(words, one))
        return next(fitting, "")

    def _fits(self, words: str, one: Coordinate) -> bool:
        """Whether so many steps of the coordinate's stride are the tensor, in each launch whose sizes are known."""
        known = [launch for launch in self.launches if self.pointer in launch.elements]
        factors = (*one.strides, *words.split(" * "))
        named = all(name in launch.numbers for launch in known for name in factors)
        return named and all(
            prod(one.numbers[name] for name in factors) == one.elements[self.pointer]
            for one in known
        )

    @property
    def neutral(self) -> str:
        """The value for elements outside the tensor; empty if there is none."""
        parameter = next(one for one in self.kernel.parameters if one.name == self.pointer)
        kind = element_type(parameter)
        if kind[-1:].isdigit():  # a vector
            return ""
        calls = {read_call(one).name for one in around(self.node) if one.type == "call_expression"}
        for names, value in EXTREMES.items():
            if calls & names:
                return value if kind in {"float", "double"} else ""
        return ZERO.get(kind, f"{kind}(0)")


def zero_outside(source: Source, context: Context, lines: Collection[int]) -> tuple[Fix, ...]:
    """Leave out the accesses on some lines where a coordinate leaves the tensor; reads give zero.

    The sizes are what the index itself multiplies with; the outermost coordinate's, what of the kernel's integers makes
    up the tensor at each size that is known. A store of which neither is known goes by what its lines ask of others.
    """
    kernels = ((unit, kernel) for unit in source.cuda for kernel in unit.kernels)
    found = [one for pair in kernels for one in accesses(source, context, *pair, lines)]
    edits = list(_guards(found))
    asked = dict.fromkeys(" && ".join(one.conditions) for one in found if one.conditions)
    if not edits:
        return ()
    where = f"line{'s' * (len(lines) > 1)} {' and '.join(map(str, sorted(lines)))}"
    words = " and ".join(f"`{one}`" for one in asked)
    return fix(f"access the tensor on {where} only where {words}", edits)


def _guards(found: Sequence[Access]) -> Iterator[Edit | None]:
    """Yield the edits: a statement that stores is left out whole, and a read gives its neutral value."""
    held: dict[int, tuple[str, ...]] = {}
    for one in found:
        own = simple_statement(one.node)
        asked = one.conditions or _of_others(one, found)
        if not one.reads and asked and own.type == "expression_statement" and own.id not in held:
            held[own.id] = asked
            yield one.unit.edit(own.start_byte, own.start_byte, f"if ({' && '.join(asked)}) ")
    for one in found:
        own = simple_statement(one.node)
        left = [words for words in one.conditions if words not in held.get(own.id, ())]
        if one.reads and left and one.neutral:
            new = f"({' && '.join(left)} ? {text(one.node)} : {one.neutral})"
            yield one.unit.edit(one.node.start_byte, one.node.end_byte, new)


def _of_others(one: Access, found: Sequence[Access]) -> tuple[str, ...]:
    """Return what is asked of the kernel's other accesses, by variables that are known where this one stands."""
    if one.reads or any(coordinate.size for coordinate in one.coordinates):
        return ()
    here = {outer.id for outer in around(one.node)}
    made = [each for each in definitions(one.kernel.node) if each.declares]
    hidden = {each.name for each in made if next(_blocks(each.node)).id not in here}
    asked = [words for other in found if other.kernel is one.kernel for words in other.conditions]
    free = (words for words in dict.fromkeys(asked) if not hidden & set(_NAME.findall(words)))
    known = _held_comparisons(one.node)
    return tuple(words for words in free if words not in known)


def _blocks(node: Node) -> Iterator[Node]:
    """Yield the scopes of a variable: the blocks and loops around its declaration."""
    kinds = {"compound_statement", "for_statement", "function_definition", "translation_unit"}
    return (outer for outer in around(node) if outer.type in kinds)


def accesses(
    source: Source, context: Context, unit: Unit, kernel: Kernel, lines: Collection[int]
) -> Iterator[Access]:
    """Yield the accesses of a kernel to tensor parameters on some lines."""
    reader, launches = Reader(kernel), _launches(source, context, kernel)
    pointers = {one.name for one in kernel.parameters if one.is_pointer}
    for node in descendants(kernel.node, "subscript_expression", "call_expression"):
        if unit.place(node).line not in lines:
            continue
        base, indices = _address(reader, node)
        pointer = next((name for name in base if name in pointers), "")
        coordinates = reader.coordinates(*indices, leaving=pointer) if pointer else ()
        if coordinates:
            yield Access(unit, kernel, node, pointer, coordinates, launches)


def _address(reader: Reader, node: Node) -> tuple[list[str], list[Node]]:
    """Return the names that an access may start from, and the expressions whose sum is its place."""
    if node.type == "call_expression":
        call = read_call(node)
        loads = call.name == "__ldg" and call.arguments
        return _pointed_tensor(reader, call.arguments[0]) if loads else ([], [])
    outer = next(islice(around(node), 2, None), None)  # `__ldg(&x[i])` is one access
    if outer is not None and outer.type == "call_expression" and read_call(outer).name == "__ldg":
        return [], []
    base, inner = node.child_by_field_name("argument"), node.child_by_field_name("indices")
    names, offsets = _pointed_tensor(reader, base) if base is not None else ([], [])
    return names, [*offsets, *(inner.named_children if inner is not None else ())]


def _pointed_tensor(reader: Reader, node: Node) -> tuple[list[str], list[Node]]:
    """Return the same for a pointer: `x`, `x + i`, `&x[i]`, or a variable that is one of these."""
    node = bare(node)
    if node.type == "identifier":
        value = reader.made_of(text(node))
        return _pointed_tensor(reader, value) if value is not None else ([text(node)], [])
    if node.type == "pointer_expression":
        inner = node.child_by_field_name("argument")
        return _address(reader, inner) if inner is not None else ([], [])
    here: Node | None = node
    while here is not None and here.type == "binary_expression":
        here = bare(left) if (left := here.child_by_field_name("left")) is not None else None
    return ([text(here)], [node]) if here is not node else ([], [])


def _held_comparisons(node: Node) -> set[str]:
    """Return the comparisons in the branches, loops and selections around a place."""
    conditions = (outer.child_by_field_name("condition") for outer in around(node))
    known = (one for one in conditions if one is not None)
    outside = (o for o in known if not o.start_byte <= node.start_byte < o.end_byte)
    return {f"{a} < {b}" for one in outside for a, b in comparisons(one)}


def _launches(source: Source, context: Context, kernel: Kernel) -> tuple[Launched, ...]:
    """Return the arguments of a kernel's launches, at the task's sizes."""
    names = [one.name for one in kernel.parameters]
    found = []
    for case in cases(source, context, "main", "full"):
        given = zip(names, case.launch.arguments, strict=False)
        if case.kernel != kernel.name or not case.sizes.real:
            continue
        values = dict(given)
        numbers = {n: v for n, v in values.items() if isinstance(v, int)}
        tensors = {n: v.numel for n, v in values.items() if isinstance(v, Tensor)}
        counts = {n: count for n, count in tensors.items() if count is not None}
        found.append(Launched(numbers, counts))
    return tuple(found)


def propose(finding: Finding, source: Source, context: Context) -> tuple[Fix, ...]:
    """Return the fix for all accesses of the kernel that runs saw leave a tensor."""
    if any("shared" in item.code for item in finding.evidence[:1]):
        return ()
    lines = {item.place.line for item in finding.evidence if item.place is not None}
    return zero_outside(source, context, lines)


FIX = FixMaker(codes=("MEM011",), propose=propose, order=1)
