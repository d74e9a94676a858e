"""Fixes of tensors that host code makes without a device, in CPU memory: they get an input's device."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tree_sitter import Node

from grader.records import Context, Finding, Fix
from grader.repair.fixes.maker import FixMaker
from grader.source import Function, Source, Unit
from grader.source.code_edits import fix
from grader.source.cpp_reading import read_call
from grader.source.nodes import text

FACTORIES = frozenset({"zeros", "empty", "ones", "rand", "randn"})
DTYPE = re.compile(r"(?:\w+::)*k[A-Z]\w*")


def propose(finding: Finding, source: Source, _context: Context) -> Iterator[Fix]:
    """Give a factory on the finding's line, with only sizes and perhaps a dtype, an input's options."""
    for unit in source.cuda if finding.place is not None else ():
        for function in unit.host_functions:
            for call in unit.calls_under(function.node):
                if finding.place and unit.place(call.node).line == finding.place.line:
                    yield from _with_options(unit, function, call.node)


def _with_options(unit: Unit, function: Function, made: Node) -> Iterator[Fix]:
    call = read_call(made)
    inputs = [one.name for one in function.parameters if "Tensor" in one.type]
    sizes, more = call.arguments[:1], call.arguments[1:]
    plain = len(more) <= 1 and all(DTYPE.fullmatch(text(one)) for one in more)
    if call.name in FACTORIES and call.base is None and inputs and sizes and plain:
        options = f"{inputs[0]}.options()" + "".join(f".dtype({text(one)})" for one in more)
        edit = unit.edit(sizes[0].end_byte, call.arguments[-1].end_byte, f", {options}")
        yield from fix(f"make it where `{inputs[0]}` is", [edit])


FIX = FixMaker(codes=("MEM003", "EXT005"), propose=propose)
