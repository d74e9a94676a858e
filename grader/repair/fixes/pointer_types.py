"""Fixes of pointers of another type than the tensor's: the tensor's own type, down to the kernel."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from tree_sitter import Node

from grader.records import Context, Edit, Finding, Fix, Touched
from grader.repair.fixes.maker import FixMaker
from grader.repair.fixes.names import names
from grader.source import Kernel, Parameter, Source, Unit
from grader.source.code_edits import fix, replace_node
from grader.source.cpp import Declare
from grader.source.cpp_reading import variables
from grader.source.nodes import descendants, names_in, text
from grader.source.scalar_types import RAISED, TYPES

_TAKEN = re.compile(
    r"data_ptr<\s*([\w:]+(?: char)?)\s*>|(?:\(|_cast\s*<)\s*(?:const\s+)?([\w:]+(?: char)?)\s*(?:const\s*)?\*[^,;]*data_ptr"
)
"""A tensor's pointer with the type that is asked for, or that it is cast to."""


@dataclass(frozen=True)
class _Taken:
    """A pointer that a launch passes to a kernel."""

    unit: Unit
    made: Node
    """The expression that gets it from the tensor."""
    type: str
    cast: bool
    """Whether nothing checks the type."""
    kinds: tuple[Node, ...]
    """Further places of its type: in declarations of the host and of the kernel."""

    def edits(self, new: str) -> Iterator[Edit | None]:
        """Yield the edits that change its type."""
        words, spelled = text(self.made), rf"\b{re.escape(self.type)}(?=\s*(?:const\s*)?[*>])"
        yield replace_node(self.unit, self.made, re.sub(spelled, new, words, count=1))
        yield from (
            replace_node(self.unit, one, new) for one in self.kinds if text(one) == self.type
        )


def own_type(
    source: Source, asked: Collection[str], made: str, lines: Collection[int] = ()
) -> Iterator[Fix]:
    """Yield the fix that takes the pointers in the type that the tensors have, in launches and kernels.

    `asked` are the C++ types that mean the wrong one, `made` is torch's name of the right one; with `lines`, only what is
    cast and a kernel reads there.
    """
    new = names()["spelled"].get(made.lower(), "")
    every = (one for unit in source.cuda for one in _taken_pointers(unit, lines))
    taken = [one for one in every if one.type in asked and (one.cast or not lines)]
    edits = [edit for one in taken if new for edit in one.edits(new)]
    yield from fix(f"take the pointer as {new}", list(dict.fromkeys(edits)))


def _taken_pointers(unit: Unit, lines: Collection[int]) -> Iterator[_Taken]:
    kernels = {one.name: one for one in unit.kernels}
    for launch in unit.launches:
        kernel = kernels.get(launch.kernel)
        host = unit.function_around(launch.node)
        local = {one.name: one for one in variables(host.node if host else None)}
        for argument, parameter in zip_longest(launch.arguments, kernel.parameters if kernel else ()):  # fmt: skip
            declared = local.get(text(argument))
            node = declared.value if declared is not None and declared.value else argument
            found = _TAKEN.search(text(node))
            inside = _pointers(kernel, parameter) if kernel and parameter else []
            if found is None or node is None or not (kernel is None or _is_named(unit, kernel, inside, lines)):  # fmt: skip
                continue
            made = [one.node.child_by_field_name("type") for one in (declared, *inside) if one]
            kinds = tuple(one for one in made if one is not None)
            yield _Taken(unit, node, found[1] or found[2], not found[1], kinds)


def _pointers(kernel: Kernel, parameter: Parameter) -> list[Parameter | Declare]:
    """Return a parameter and the kernel's pointers derived from it: `const int* row = labels + r * n`."""
    made = (one for one in variables(kernel.node) if not one.plain)
    return [parameter, *(one for one in made if parameter.name in names_in(one.value))]


def _is_named(
    unit: Unit, kernel: Kernel, inside: Sequence[Parameter | Declare], lines: Collection[int]
) -> bool:
    """Whether a kernel names one of some pointers on one of some lines."""
    names = {one.name for one in inside}
    named = (one for one in descendants(kernel.node, "identifier") if text(one) in names)
    return not lines or any(unit.place(node).line in lines for node in named)


def propose(finding: Finding, source: Source, _context: Context) -> Iterator[Fix]:
    """Yield the fix by what torch raised, or by the width of what a kernel read."""
    for item in finding.evidence if not finding.fixes else ():
        raised = RAISED.search(item.said)
        if raised is not None:
            asked = [name for name, kind in TYPES.items() if kind.lower() == raised[1].lower()]
            yield from own_type(source, asked, raised[2])
            return
        if isinstance(item.details, Touched) and item.place is not None:
            new = names()["spelled"].get(item.details.dtype.removeprefix("torch."), "")
            asked = [
                name for name in (*TYPES, "unsigned", "uint32_t", "half", "__half") if name != new
            ]
            yield from own_type(source, asked, item.details.dtype, {item.place.line})


FIX = FixMaker(codes=("API005", "DEP004"), propose=propose)
