"""The template instantiations of a submission's kernels."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import zip_longest

from tree_sitter import Node

from grader.source import Kernel, Launch, Unit
from grader.source.constants import fold, size_of
from grader.source.cpp import Declare
from grader.source.cpp_reading import read_call
from grader.source.cpp_types import type_of
from grader.source.nodes import around, text

FLOATING = ("float", "double")
INTEGRAL = ("uint8_t", "int8_t", "int", "long", "short")
EXTRA = {
    "kHalf": "at::Half", "Half": "at::Half", "kBFloat16": "at::BFloat16",
    "BFloat16": "at::BFloat16", "kBool": "bool", "Bool": "bool",
}  # fmt: skip


@dataclass(frozen=True)
class Instantiation:
    """One set of template arguments of a kernel, and its launch."""

    types: Mapping[str, str] = field(default_factory=dict)
    """Type parameters: `scalar_t` -> `double`."""
    values: Mapping[str, int] = field(default_factory=dict)
    launch: Launch | None = None


def instantiations(units: tuple[Unit, ...], kernel: Kernel) -> tuple[Instantiation, ...]:
    """Return a kernel's instantiations, without unknown parameters.

    A kernel without template parameters is instantiated once, launched or not.
    """
    if not kernel.template_parameters:
        return (Instantiation(),)
    return tuple(
        instance
        for unit in units
        for launch in unit.launches
        if launch.kernel == kernel.name
        for instance in _of_launch(unit, kernel, launch)
    )


def _of_launch(unit: Unit, kernel: Kernel, launch: Launch) -> Iterator[Instantiation]:
    values: dict[str, int] = {}
    types: dict[str, str] = {}
    for parameter, node in zip_longest(kernel.template_parameters, launch.template_arguments):
        if parameter is not None and parameter.is_type:
            known = text(node) or _deduce_type(unit, kernel, launch, parameter.name)
            types |= {parameter.name: known} if known else {}
        elif parameter is not None and (value := fold(unit, node)) is not None:
            values[parameter.name] = value
    open_types = {name for name, one in types.items() if one == "scalar_t"}
    choices = dispatched_types(launch.node) if open_types else ()
    for choice in choices or ("scalar_t",):
        yield Instantiation(types | dict.fromkeys(open_types, choice), values, launch)


def _deduce_type(unit: Unit, kernel: Kernel, launch: Launch, name: str) -> str | None:
    """Return a type parameter deduced from the arguments, e.g. `data_ptr<float>()`."""
    for parameter, argument in zip(kernel.parameters, launch.arguments, strict=False):
        words = parameter.type.replace("*", " ").replace("&", " ").split()
        if name in words:
            kind = type_of(unit, argument)
            if kind is not None:
                return kind.removeprefix("const ").rstrip("*")
    return None


def dispatched_types(node: Node) -> tuple[str, ...]:
    """Return the types that an AT_DISPATCH macro around a node makes `scalar_t`."""
    for outer in around(node):
        if outer.type == "call_expression":
            call = read_call(outer)
            if call.qualified.startswith("AT_DISPATCH"):
                return _choices(call.qualified, [text(item) for item in call.arguments])
    return ()


def _choices(macro: str, arguments: list[str]) -> tuple[str, ...]:
    types: list[str] = []
    if "FLOATING" in macro or "ALL_TYPES" in macro:
        types += FLOATING
    if "ALL_TYPES" in macro or "INTEGRAL" in macro:
        types += INTEGRAL
    if macro.endswith("_HALF"):
        types.append("at::Half")
    if "_AND" in macro:
        for argument in arguments[:8]:
            last = argument.rsplit("::", 1)[-1]
            if last in EXTRA:
                types.append(EXTRA[last])
    return tuple(dict.fromkeys(types))


def calls_device_functions(unit: Unit, kernel: Kernel) -> tuple[str, ...]:
    """Return the names of the device functions that a kernel calls, directly or through others."""
    by_name = {function.name: function for function in unit.device_functions}
    called: dict[str, None] = {}
    todo = [kernel.node]
    while todo:
        node = todo.pop()
        for call in unit.calls:
            inside = node.start_byte <= call.node.start_byte < node.end_byte
            if inside and call.name in by_name and call.name not in called:
                called[call.name] = None
                todo.append(by_name[call.name].node)
    return tuple(called)


def array_size(unit: Unit, array: Declare, instance: Instantiation) -> tuple[int, int] | None:
    """Return number and bytes of a fixed array's elements in an instantiation, where known."""
    element = size_of(array.type, instance.types)
    extents = [fold(unit, dim, instance.values, instance.types) for dim in array.sizes]
    if element is None or None in extents:
        return None
    return math.prod(extent or 0 for extent in extents), element
