"""A fix: the launch that a host function has everything ready for, and lacks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice, product

from tree_sitter import Node

from grader.records import Context, Finding, Fix
from grader.repair.fixes.maker import FixMaker
from grader.source import Function, Kernel, Source, Unit
from grader.source.code_edits import fix
from grader.source.cuda_code import descendants, text
from grader.source.rewriting.launch_arguments import data_of
from grader.source.statements import insert_before

MOST = 6
"""Launches that are proposed at most: a name may stand for several sizes."""
LINE = 110
GRID = re.compile(r"(?:num_?|n_?)?(?:grid|blocks)(?:_?(?:size|dim|s))?", re.IGNORECASE)
BLOCK = re.compile(r"(?:num_?|n_?)?(?:threads|block)(?:_?(?:size|dim|s|per_?block))?", re.IGNORECASE)  # fmt: skip
SHARED = re.compile(r"sh?_?mem.*|shared.*|smem.*", re.IGNORECASE)
TENSOR = re.compile(r"\bTensor\b")
INTEGER = re.compile(r"(?:const )?(?:unsigned|int|long|size_t|int64_t|auto)\b")


def launch(unit: Unit, kernel: Kernel) -> tuple[Fix, ...]:
    """Return launches of a kernel in the one host function that makes a tensor and launches nothing."""
    hosts = [_Host(unit, one) for one in unit.host_functions if one.body is not None]
    hosts = [host for host in hosts if host.inputs and host.result]
    if len(hosts) != 1 or kernel.template_parameters or unit.launches:
        return ()
    made = (found for words in hosts[0].launches(kernel) for found in hosts[0].with_launch(words))
    return tuple(islice(made, MOST))


@dataclass(frozen=True)
class _Host:
    unit: Unit
    function: Function

    @property
    def inputs(self) -> list[str]:
        """Names of the tensors that it is given."""
        return [p.name for p in self.function.parameters if TENSOR.search(p.type)]

    @property
    def last(self) -> Node | None:
        """Its last `return`."""
        body = self.function.body
        found = list(descendants(body, "return_statement")) if body is not None else []
        return found[-1] if found else None

    @property
    def result(self) -> str:
        """The variable that it returns; empty where that is none."""
        returned = re.fullmatch(r"return\s+(\w+);", text(self.last))
        return returned[1] if returned else ""

    def known(self) -> dict[str, str]:
        """Return its variables and their types, in order; tensors that it makes are called that."""
        found = {p.name: p.type for p in self.function.parameters}
        for declared in descendants(self.function.body or self.function.node, "declaration"):
            kind = text(declared.child_by_field_name("type"))
            for child in declared.named_children:
                if child.type not in {"init_declarator", "identifier"}:
                    continue
                name = text(child.child_by_field_name("declarator") or child)
                value = text(child.child_by_field_name("value") or child)
                tensor = re.match(r"(?:torch|at)::|\w+\.contiguous\(\)", value)
                found[re.match(r"\w*", name)[0]] = "Tensor" if kind == "auto" and tensor else kind  # type: ignore[index]
        return found

    def idle(self) -> list[str]:
        """Return the whole numbers that it computes and never uses."""
        words = text(self.function.body)
        given = {p.name for p in self.function.parameters}
        return [
            name
            for name, kind in self.known().items()
            if INTEGER.match(kind)
            and name not in given
            and not any(pattern.fullmatch(name) for pattern in (GRID, BLOCK, SHARED))
            and len(re.findall(rf"(?<![\w.]){name}\b(?!\s*\*=)", words)) == 1
        ]

    def launches(self, kernel: Kernel) -> Iterator[str]:
        """Yield whole launches, the likeliest first."""
        block = self._named(BLOCK) or _constant(self.unit, kernel) or "256"
        shared = ""
        if any(array.dynamic for array in kernel.shared):
            kind = next(array.element_type for array in kernel.shared if array.dynamic)
            shared = f", {self._named(SHARED) or f'{block} * sizeof({kind})'}"
        options = [self._arguments(kernel, k) for k in range(len(kernel.parameters))]
        for grid, *arguments in product(self._grids(kernel, block), *options):
            head = f"{kernel.name}<<<{grid}, {block}{shared}>>>("
            given = ", ".join(arguments)
            wrap = "\n    " if len(head) + len(given) > LINE else ""
            yield f"{head}{wrap}{given});"

    def _named(self, pattern: re.Pattern[str]) -> str:
        names = [name for name in self.known() if pattern.fullmatch(name)]
        return names[0] if names else ""

    def _grids(self, kernel: Kernel, block: str) -> list[str]:
        named = self._named(GRID)
        if named:
            return [named]
        every, given = self.idle(), {parameter.name for parameter in kernel.parameters}
        idle = [name for name in every if name not in given]
        several = [" * ".join(every)] if len(every) > 1 else []
        first = f"{self.inputs[0]}.size(0)"
        if re.search(r"blockIdx\.x \* blockDim\.x \+ threadIdx\.x", text(kernel.body)):
            each = [*idle, f"{self.result}.numel()"]
            return [f"({n} + {block} - 1) / {block}" for n in each]
        return [*idle, *several, first]

    def _arguments(self, kernel: Kernel, index: int) -> list[str]:
        """Return what may be handed over for one parameter: what has its name, before all."""
        parameter, known = kernel.parameters[index], self.known()
        named = parameter.name in known
        if parameter.is_pointer:
            if named and TENSOR.search(known[parameter.name]):
                return [data_of(parameter)]
            before = [p for p in kernel.parameters[:index] if p.is_pointer and p.is_const]
            inputs = self.inputs[len(before) :] or self.inputs
            given = self._contiguous(inputs[0]) if parameter.is_const else self.result
            return [data_of(parameter, given)]
        if named:
            return [parameter.name]
        x = self.inputs[0]
        dim = next((name for name in known if name in {"dim", "axis"}), "")
        sizes = [f"{x}.size({dim})"] if dim else [f"{x}.size(-1)", f"{x}.size(0)"]
        return [*sizes, f"{x}.numel()"]

    def _contiguous(self, tensor: str) -> str:
        """Return what holds a tensor's contiguous copy, where there is one of another name."""
        made = re.search(rf"(\w+)\s*=\s*{tensor}\.contiguous\(\)", text(self.function.body))
        return made[1] if made else tensor

    def with_launch(self, words: str) -> tuple[Fix, ...]:
        """Return the fix that puts a launch before the last `return`."""
        if self.last is None:
            return ()
        return fix("launch the kernel", [insert_before(self.unit, self.last, words)])


def _constant(unit: Unit, kernel: Kernel) -> str:
    """Return the name that sizes the kernel's shared arrays, or that its text uses for a block's threads."""
    for array in kernel.shared:
        for dim in array.dims:
            if dim.type == "identifier":
                return text(dim)
    named = re.findall(r"\b(?:THREADS|NUM_THREADS|BLOCK_SIZE|BLOCK|NT)\b", unit.text)
    return named[0] if named else ""


def propose(finding: Finding, source: Source, _context: Context) -> tuple[Fix, ...]:
    """Return launches of the one kernel that nothing launches."""
    if finding.fixes or len(finding.kernels) != 1:
        return ()
    found = (
        (unit, one) for unit in source.cuda for one in unit.kernels if one.name in finding.kernels
    )
    return next((launch(unit, kernel) for unit, kernel in found), ())


FIX = FixMaker(codes=("CHT003",), propose=propose)
