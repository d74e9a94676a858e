"""Fixes of reductions: whole steps, with the author's own names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tree_sitter import Node

from grader.records import Fix
from grader.source.analysis.reduced_result import Loss
from grader.source.analysis.walks import Case
from grader.source.code_edits import fix, replace_node
from grader.source.cpp_reading import variables
from grader.source.cuda_code import text
from grader.source.statements import (
    enclosing_loops,
    insert_after,
    simple_statement,
    statement,
)

FULL = "0xffffffff"


@dataclass(frozen=True)
class Step:
    """A place of a kernel where a value is reduced over a warp."""

    statement: Node
    """The loop, or the statement of the call, directly in a block."""
    value: str
    """The variable that is reduced."""
    type: str
    maximum: bool
    minimum: bool

    @property
    def identity(self) -> str:
        """What doesn't change a result."""
        if self.maximum:
            return f"({self.type})(-INFINITY)"
        return f"({self.type})(INFINITY)" if self.minimum else f"({self.type})0"

    def combine(self, other: str) -> str:
        """Return the statement that takes another value in."""
        if self.maximum or self.minimum:
            name = "max" if self.maximum else "min"
            return f"{self.value} = {name}({self.value}, {other});"
        return f"{self.value} += {other};"


def step_of(case: Case, exchange: Node, call: Node | None) -> Step | None:
    """Return the reduction step that a shuffle belongs to, seen from the kernel."""
    anchor = call if call is not None else exchange
    kernel = case.walk.kernel.node
    if not kernel.start_byte <= anchor.start_byte < kernel.end_byte:
        return None
    value = _reduced_value(exchange, call)
    if value is None:
        return None
    loop = None if call is not None else next(enclosing_loops(anchor), None)
    whole = statement(loop if loop is not None else anchor)
    words = text(simple_statement(exchange)) + text(loop)
    return Step(whole, value, declared_type(kernel, value), "max" in words, "min" in words)


def _reduced_value(exchange: Node, call: Node | None) -> str | None:
    """Return the variable that a shuffle, or a call of a helper that shuffles, reduces."""
    if call is not None:
        around_call = call.parent
        if around_call is not None and around_call.type == "assignment_expression":
            return text(around_call.child_by_field_name("left"))
        if around_call is not None and around_call.type == "init_declarator":
            return text(around_call.child_by_field_name("declarator"))
        return None
    arguments = exchange.child_by_field_name("arguments")
    given = arguments.named_children if arguments is not None else []
    index = 1 if len(given) > 2 else 0
    return text(given[index]) if len(given) > index and given[index].type == "identifier" else None


def declared_type(function: Node, name: str) -> str:
    """Return the type that a local variable is declared with; `float` where it can't be told."""
    kinds = (one.type for one in variables(function) if one.name == name)
    kind = next(kinds, "float")
    return "float" if kind == "auto" else kind


def block_reduction(step: Step, *, warps_done: bool) -> str:
    """Return a reduction over the whole block that leaves the result in every thread."""
    shuffle = f"__shfl_xor_sync({FULL}, {step.value}, reduce_offset)"
    head = "for (int reduce_offset = 16; reduce_offset > 0; reduce_offset >>= 1)"
    loop = f"{head} {step.combine(shuffle)}"
    lines = [
        f"__shared__ {step.type} reduce_part[32];",
        "__syncthreads();",
        f"if (threadIdx.x % 32 == 0) reduce_part[threadIdx.x / 32] = {step.value};",
        "__syncthreads();",
        f"{step.value} = threadIdx.x % 32 < (blockDim.x + 31) / 32",
        f"    ? reduce_part[threadIdx.x % 32] : {step.identity};",
        loop,
    ]
    return "\n".join(["{", *(lines if warps_done else [loop, *lines]), "}"])


def join_warps(case: Case, losses: Sequence[Loss]) -> Iterator[Fix]:
    """Yield the ways to add the warps' parts together, at each place where they are left apart."""
    every = (step_of(case, one.exchange.node, one.exchange.call) for one in losses)
    steps = [step for step in every if step is not None]
    whole = [
        case.unit.edit(
            step.statement.start_byte,
            step.statement.end_byte,
            block_reduction(step, warps_done=False),
        )
        for step in steps
    ]
    yield from fix(
        "reduce over the whole block, warps first, and give every thread the total", whole
    )
    after = [
        insert_after(case.unit, step.statement, block_reduction(step, warps_done=True))
        for step in steps
    ]
    yield from fix("add the parts of all warps together through shared memory", after)


def broadcast(case: Case, loss: Loss) -> Iterator[Fix]:
    """Yield the ways to give every thread the result that one thread holds."""
    function = loss.exchange.node.child_by_field_name("function")
    if function is not None and "shfl_down" in text(function):
        words = text(function).replace("shfl_down", "shfl_xor")
        edits = [replace_node(case.unit, function, words)]
        yield from fix("exchange crosswise, so that every lane gets the warp's total", edits)
    step = step_of(case, loss.exchange.node, loss.exchange.call)
    if step is not None:
        lines = (
            f"__shared__ {step.type} reduce_total;\n"
            f"if (threadIdx.x == 0) reduce_total = {step.value};\n"
            f"__syncthreads();\n{step.value} = reduce_total;"
        )
        edits = [insert_after(case.unit, statement(step.statement), lines)]
        yield from fix("let thread 0 hand the total to the block through shared memory", edits)
