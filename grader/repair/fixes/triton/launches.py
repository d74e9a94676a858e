"""Fixes of kernels that nothing launches: a launch made of what the host function binds, by the kernel's own names."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice

from grader.records import Context, Edit, Finding, Fix
from grader.repair.candidates.triton.scope import settings_of
from grader.repair.fixes.maker import FixMaker
from grader.repair.fixes.triton.host import bound_names
from grader.source import Source, nodes_under
from grader.source.analysis.triton import Kernel, allocated_tensors, kernels, launches
from grader.source.analysis.triton_axes import axes_used, cuts
from grader.source.code_edits import fix

MOST = 4
"""Launches that are tried for one kernel."""
LENGTH = "1024"
"""Of a block that nothing names."""
_POINTER = re.compile(r"_?(ptrs?|pointer)(?=_|$)", re.IGNORECASE)


def propose(finding: Finding, source: Source, context: Context) -> Iterator[Fix]:
    """Yield launches of each kernel that has none, in a function that makes a tensor."""
    del finding, context
    for kernel in _idle(source):
        for host in source.walk(ast.FunctionDef):
            caller = _Host(source, host, kernel)
            if caller.made and caller.next is not None:
                for words in islice(caller.launches(), MOST):
                    yield from _before(source, caller.next, words)


def _before(source: Source, node: ast.stmt, words: str) -> tuple[Fix, ...]:
    start = source.span(node)[0]
    text = f"{words}\n{' ' * node.col_offset}"
    return fix(f"launch the kernel: `{words}`", [Edit(start=start, end=start, text=text)])


def _idle(source: Source) -> Iterator[Kernel]:
    """Yield the kernels that nothing launches and no other one calls."""
    used = {one.kernel.name for one in launches(source)}
    called = {n.id for k in kernels(source) for n in ast.walk(k.node) if isinstance(n, ast.Name)}
    yield from (one for one in kernels(source) if one.name not in used | called and one.accesses)


@dataclass(frozen=True, eq=False)
class _Host:
    """A function of the host that may have been meant to launch a kernel."""

    source: Source
    node: ast.FunctionDef
    kernel: Kernel

    @cached_property
    def names(self) -> tuple[str, ...]:
        return bound_names(self.node)

    @cached_property
    def made(self) -> tuple[str, ...]:
        """Tensors with unwritten memory."""
        return tuple(name for name, _ in allocated_tensors(self.node, self.source))

    @cached_property
    def next(self) -> ast.stmt | None:
        """The statement that a launch belongs before: the next one that is given what it writes, else the last `return`."""
        others = {one.call for one in launches(self.source) if one.host is self.node}
        written = {self.given[p] for p in map(self.kernel.parameter_of, self.kernel.accesses) if p}
        for node in sorted(nodes_under(self.node), key=lambda one: getattr(one, "lineno", 0)):
            names = {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}
            if (
                isinstance(node, ast.Expr)
                and node.value in others
                and names & written & {*self.made}
            ):
                return node
        lasts = [one for one in nodes_under(self.node) if isinstance(one, ast.Return)]
        return lasts[-1] if lasts else None

    @cached_property
    def given(self) -> dict[str, str]:
        """What each parameter is given; empty where nothing is known for it."""
        found: dict[str, str] = {}
        stored = {self.kernel.parameter_of(a) for a in self.kernel.accesses if a.kind != "load"}
        touched = {self.kernel.parameter_of(one) for one in self.kernel.accesses}
        for name in self.kernel.parameters:
            rest = [one for one in self.names if one not in found.values()]
            if name in touched:
                found[name] = self._tensor(name, rest, written=name in stored)
            else:
                found[name] = self._known(name) or self._number(name, rest)
        return found

    def _named(self, name: str, among: tuple[str, ...] | list[str]) -> str:
        stem = _POINTER.sub("", name).lower()
        return next((one for one in among if one.lower() in {name.lower(), stem}), "")

    def _tensor(self, name: str, rest: list[str], *, written: bool) -> str:
        own = [one for one in rest if (one in self.made) == written]
        inputs = {one.arg for one in self.node.args.args}
        return self._named(name, own) or next((o for o in own if written or o in inputs), "")

    def _known(self, name: str) -> str:
        """Return what has a parameter's name: a variable, what another launch gives, a setting, a product of variables."""
        others = [one for one in launches(self.source) if one.host is self.node and name in one.arguments]  # fmt: skip
        settings = [one for one in settings_of(self.source) if one.rpartition(".")[2] == name]
        product = len(name) > 1 and all(letter in self.names for letter in name)
        return (
            self._named(name, self.names)
            or next((self.source.text(one.arguments[name]) for one in others), "")
            or next(iter(settings), "")
            or (" * ".join(name) if product else "")
        )

    def _number(self, name: str, rest: list[str]) -> str:
        if name in self.kernel.constants:
            return LENGTH
        whole = f"{self.made[0]}.numel()"
        return whole if name.lower().startswith(("n", "size", "total")) else next(iter(rest), whole)

    def launches(self) -> Iterator[str]:
        """Yield whole launches, the likeliest first."""
        if not all(self.given.values()):
            return
        told = [
            f"{name}={value}" if name in self.kernel.constants else value
            for name, value in self.given.items()
        ]
        for grid in dict.fromkeys(self._grids()):
            yield f"{self.kernel.name}[{grid}]({', '.join(told)})"

    def _grids(self) -> Iterator[str]:
        if "grid" in self.names:
            yield "grid"
        counts = [list(self._counts(axis)) for axis in range(len(axes_used(self.kernel)) or 1)]
        if all(counts):
            firsts = [one[0] for one in counts]
            yield f"({', '.join(firsts)},)"
            yield from (f"({', '.join((*firsts[:-1], one))},)" for one in counts[-1][1:])

    def _counts(self, axis: int) -> Iterator[str]:
        own = [cut for cut in cuts(self.kernel) if cut.axis == axis]
        for cut in own:
            block = self.given.get(cut.block, cut.block)
            yield from (f"triton.cdiv({self.given[length]}, {block})" for length in cut.lengths)
        yield f"{self.given[self.kernel.parameters[0]]}.shape[{axis}]"
        yield f"{self.made[0]}.numel()"


FIX = FixMaker(("CHT003", "MEM008", "NUM001"), propose)
