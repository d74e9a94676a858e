"""The fix of a missing launch in a host function that has everything prepared for it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice, product

from tree_sitter import Node

from grader.records import Context, Finding, Fix
from grader.repair.fixes.maker import FixMaker
from grader.source import Function, Kernel, Source, Unit
from grader.source.code_edits import fix
from grader.source.cpp_types import known_at
from grader.source.nodes import descendants, text
from grader.source.rewriting.launch_arguments import data_of
from grader.source.statements import insert_before

MOST = 6
"""Launches that are proposed at most: a name may stand for several sizes."""
LINE = 110
GRID = re.compile(r"(?:num_?|n_?)?(?:grid|blocks)(?:_?(?:size|dim|s))?", re.IGNORECASE)
BLOCK = re.compile(r"(?:num_?|n_?)?(?:threads|block)(?:_?(?:size|dim|s|per_?block))?", re.IGNORECASE)  # fmt: skip
SHARED = re.compile(r"sh?_?mem.*|shared.*|smem.*", re.IGNORECASE)
USUAL = re.compile(r"\b(?:THREADS|NUM_THREADS|BLOCK_SIZE|BLOCK|NT)\b")
INTEGER = re.compile(r"(?:const )?(?:unsigned|int|long|size_t|int64_t|auto)\b")
FLAT = "blockIdx.x * blockDim.x + threadIdx.x"


def launch(unit: Unit, kernel: Kernel) -> Iterator[Fix]:
    """Yield launches of a kernel in the one host function that makes a tensor and launches nothing."""
    hosts = [_Host(unit, one) for one in unit.host_functions if one.body is not None]
    hosts = [host for host in hosts if host.inputs and host.result]
    if len(hosts) == 1 and not kernel.template_parameters and not unit.launches:
        for words in islice(hosts[0].launches(kernel), MOST):
            if (last := hosts[0].last) is not None:
                yield from fix("launch the kernel", [insert_before(unit, last, words)])


@dataclass(frozen=True)
class _Host:
    unit: Unit
    function: Function

    @cached_property
    def inputs(self) -> list[str]:
        """Names of its tensor parameters."""
        return [p.name for p in self.function.parameters if re.search(r"\bTensor\b", p.type)]

    @cached_property
    def last(self) -> Node | None:
        """Its last `return`."""
        found = list(descendants(self.function.node, "return_statement"))
        return found[-1] if found else None

    @cached_property
    def result(self) -> str:
        """The variable that it returns; empty where that is none."""
        returned = re.fullmatch(r"return\s+(\w+);", text(self.last))
        return returned[1] if returned else ""

    @cached_property
    def known(self) -> dict[str, str]:
        """Its variables and their types, in order; tensors that it makes are called that."""
        return known_at(self.unit, self.last) if self.last is not None else {}

    def idle(self) -> list[str]:
        """Return the integers that it computes and never uses."""
        words = text(self.function.body)
        given = {p.name for p in self.function.parameters}
        whole = (n for n, kind in self.known.items() if INTEGER.match(kind) and n not in given)
        own = (n for n in whole if not any(p.fullmatch(n) for p in (GRID, BLOCK, SHARED)))
        return [n for n in own if len(re.findall(rf"(?<![\w.]){n}\b(?!\s*\*=)", words)) == 1]

    def launches(self, kernel: Kernel) -> Iterator[str]:
        """Yield whole launches, the likeliest first."""
        block = self._variable_named(BLOCK) or _constant(self.unit, kernel) or "256"
        kinds = [array.type for array in kernel.shared if array.extern]
        bytes_ = self._variable_named(SHARED) or (f"{block} * sizeof({kinds[0]})" if kinds else "")
        shared = f", {bytes_}" if kinds else ""
        options = [self._arguments(kernel, k) for k in range(len(kernel.parameters))]
        for grid, *arguments in product(self._grids(kernel, block), *options):
            head, given = f"{kernel.name}<<<{grid}, {block}{shared}>>>(", ", ".join(arguments)
            wrap = "\n    " if len(head) + len(given) > LINE else ""
            yield f"{head}{wrap}{given});"

    def _variable_named(self, pattern: re.Pattern[str]) -> str:
        return next((name for name in self.known if pattern.fullmatch(name)), "")

    def _grids(self, kernel: Kernel, block: str) -> list[str]:
        if named := self._variable_named(GRID):
            return [named]
        every, given = self.idle(), {parameter.name for parameter in kernel.parameters}
        idle = [name for name in every if name not in given]
        if FLAT in text(kernel.body):
            each = [*idle, f"{self.result}.numel()"]
            return [f"({n} + {block} - 1) / {block}" for n in each]
        several = [" * ".join(every)] if len(every) > 1 else []
        return [*idle, *several, f"{self.inputs[0]}.size(0)"]

    def _arguments(self, kernel: Kernel, index: int) -> list[str]:
        """Return the possible arguments for one parameter, those with its name first."""
        parameter, x = kernel.parameters[index], self.inputs[0]
        kind = self.known.get(parameter.name, "")
        if parameter.is_pointer:
            if re.search(r"\bTensor\b", kind):
                return [data_of(parameter)]
            before = [p for p in kernel.parameters[:index] if p.is_pointer and p.is_const]
            inputs = self.inputs[len(before) :] or self.inputs
            given = self._contiguous(inputs[0]) if parameter.is_const else self.result
            return [data_of(parameter, given)]
        if kind:
            return [parameter.name]
        dim = next((name for name in self.known if name in {"dim", "axis"}), "")
        sizes = [f"{x}.size({dim})"] if dim else [f"{x}.size(-1)", f"{x}.size(0)"]
        return [*sizes, f"{x}.numel()"]

    def _contiguous(self, tensor: str) -> str:
        """Return the variable with a tensor's contiguous copy, if there is one."""
        made = re.search(rf"(\w+)\s*=\s*{tensor}\.contiguous\(\)", text(self.function.body))
        return made[1] if made else tensor


def _constant(unit: Unit, kernel: Kernel) -> str:
    """Return the name that sizes the kernel's shared arrays, or that its text uses for a block's threads."""
    dims = (text(dim) for array in kernel.shared for dim in array.sizes if dim.type == "identifier")
    named = USUAL.search(unit.text)
    return next(dims, named[0] if named else "")


def propose(finding: Finding, source: Source, _context: Context) -> Iterator[Fix]:
    """Yield launches of the one kernel that nothing launches."""
    asked = finding.kernels if not finding.fixes and len(finding.kernels) == 1 else ()
    kernels = ((unit, one) for unit in source.cuda for one in unit.kernels if one.name in asked)
    for unit, kernel in islice(kernels, 1):
        yield from launch(unit, kernel)


FIX = FixMaker(codes=("CHT003",), propose=propose)
