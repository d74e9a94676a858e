"""Divergence of a block's threads: the branch around a barrier or an exchange that only some of them reached in a run."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tree_sitter import Node

from grader.source import Source, Unit
from grader.source.divergence import depends_on_thread
from grader.source.nodes import around, one_line

BRANCHES = ("if_statement", "for_statement", "while_statement")
EXCHANGE = re.compile(r"__(?:shfl|reduce|match|ballot|any|all|syncwarp)\w*")
BARRIER = re.compile(r"__syncthreads\w*|__barrier_sync|sync")
DEEP = 3
"""Most calls between a kernel and the helper with the barrier or exchange."""


@dataclass(frozen=True)
class Parting:
    """A barrier or exchange that not all threads reach."""

    unit: Unit
    meeting: Node
    """The call of the barrier or exchange."""
    where: Node
    """That call, or the kernel's call of the helper with it."""
    branch: Node | None
    """The innermost branch around it that depends on the thread's index; None where threads have returned before."""

    @property
    def condition(self) -> Node | None:
        """The branch's condition."""
        return self.branch.child_by_field_name("condition") if self.branch is not None else None

    @property
    def asked(self) -> str:
        """The condition's text, with the line of its branch."""
        if self.branch is None:
            return ""
        words = one_line(self.condition, 60).removeprefix("(").removesuffix(")")
        return f"`{words}` (line {self.unit.place(self.branch).line})"


def parting_at(source: Source, line: int, kind: re.Pattern[str]) -> Parting | None:
    """Return the barrier or exchange on a line, with the branch that excludes threads."""
    for unit in source.cuda:
        for call in unit.calls:
            place = unit.place(call.node)
            if kind.fullmatch(call.name) and place.line <= line <= place.end_line:
                return _parting(unit, call.node, call.node)
    return None


def alike(parting: Parting) -> Iterator[Parting]:
    """Yield the function's other exchanges under the same condition, which a hang at the first hides."""
    inner = {f.name: f.node for f in parting.unit.device_functions}
    for call in parting.unit.calls:
        made = (one.node for one in parting.unit.calls_under(inner[call.name]) if EXCHANGE.fullmatch(one.name)) if call.name in inner else ()  # fmt: skip
        meeting = call.node if EXCHANGE.fullmatch(call.name) else next(iter(made), None)
        same = parting.unit.function_around(call.node) == parting.unit.function_around(
            parting.where
        )
        if meeting is not None and same and call.node != parting.where:
            other = _parting(parting.unit, meeting, call.node)
            if other.asked.partition(" (line")[0] == parting.asked.partition(" (line")[0]:
                yield other


def _parting(unit: Unit, meeting: Node, where: Node, depth: int = 0) -> Parting:
    branch = next((one for one in around(where) if _parts(one)), None)
    function = unit.function_around(where)
    if branch is None and function is not None and function.runs == "device" and depth < DEEP:
        calls = [one.node for one in unit.calls if one.name == function.name]
        found = [_parting(unit, meeting, call, depth + 1) for call in calls]
        return next((one for one in found if one.branch is not None), Parting(unit, meeting, where, None))  # fmt: skip
    return Parting(unit, meeting, where, branch)


def _parts(node: Node) -> bool:
    """Whether a block's threads diverge at a statement."""
    condition = node.child_by_field_name("condition") if node.type in BRANCHES else None
    return condition is not None and depends_on_thread(condition)


def exchange_at(source: Source, line: int) -> bool:
    """Whether lanes of a warp exchange values on a line."""
    calls = ((unit, read) for unit in source.cuda for read in unit.calls)
    return any(
        EXCHANGE.fullmatch(call.name) and unit.place(call.node).line == line for unit, call in calls
    )
