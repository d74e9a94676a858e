"""The own share: the part of a right program's work that its own kernels did.

It is measured by the rest: torch's operators and library functions inside forward are compared with the operations of
the task's reference, products and convolutions by their multiplications, all others by elements. So useless work of
decoy kernels, beside calls that give the result, counts nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import prod

from grader import execution
from grader.judge.honesty import LIBRARY, MOVING_OPERATORS, computing_operators, names_of
from grader.judge.side_effects import IDLE
from grader.pipeline.context import GradingContext
from grader.records import RIGHT_VALUES, Evaluation, Run, Task
from grader.repair.compose.graph import Graph, Node, UncoveredError, read_graph

PRODUCTS = frozenset(
    ["mm", "addmm", "bmm", "baddbmm", "addbmm", "mv", "addmv", "dot", "matmul", "linear", "einsum"]
)
PRODUCT_WORDS = ("conv", "attention", "lstm", "gru", "rnn", LIBRARY)
"""Parts of names of further operators that multiply and add."""
NO_WORK = frozenset({"placeholder", "output", "get_attr", "getattr", "getitem", "size", "numel"})


def own_share(grading: GradingContext, task: Task, evaluation: Evaluation) -> float | None:
    """Return the share, 0 to 1; None for a program that is not right, and where it can't be told."""
    if evaluation.verdict.status not in RIGHT_VALUES:
        return None
    ran = [run for run in evaluation.observed if run.status == "ran"]
    by_another = grading.checker is not None or bool(grading.no_checker)
    if by_another and (not ran or not evaluation.checked):
        return None
    idle = any(item.code == IDLE for item in evaluation.probes)
    if idle or not any(run.launches for run in ran):
        return 0.0
    if not any(map(_left_to_others, ran)):
        return 1.0
    try:
        told = execution.trace(task.reference, grading.form, grading.limits)
        graph = read_graph(told)
    except UncoveredError:
        return None
    return min(share_left(graph, _left_to_others(run)) for run in ran)


def _left_to_others(run: Run) -> tuple[str, ...]:
    """Return the operations computed by torch or a library in a run, once for each call."""
    wanted = {
        *computing_operators([run]),
        *(name for name in names_of([run]) if name.startswith(LIBRARY)),
    }
    bare = ((name.removeprefix("aten::").split(".")[0], n) for name, n in run.operators.items())
    return tuple(name for name, count in bare if name in wanted for _ in range(min(count, 1000)))


def share_left(graph: Graph, left: tuple[str, ...]) -> float:
    """Return the share of the reference's operations that torch and libraries did not do, by kind."""
    work = [(_multiplies(node.op), _work(graph, node)) for node in graph.nodes]
    products = [cost for product, cost in work if product and cost]
    others = [cost for product, cost in work if not product and cost]
    given = sum(map(_multiplies, left)) if products else 0
    done = _share_done(products, given) + _share_done(others, len(left) - given)
    total = sum(products) + sum(others)
    return 1.0 - done / total if total else 0.0


def _share_done(costs: list[int], calls: int) -> float:
    return sum(costs) * min(calls / len(costs), 1.0) if costs else 0.0


def _multiplies(name: str) -> bool:
    return name in PRODUCTS or any(word in name for word in PRODUCT_WORDS)


def _work(graph: Graph, node: Node) -> int:
    """Return a node's elements, times the terms of each for a product; 0 for operators that only move values."""
    if node.shape is None or node.op in NO_WORK or node.op in MOVING_OPERATORS:
        return 0
    return prod(node.shape) * (_terms(graph, node) if _multiplies(node.op) else 1)


def _terms(graph: Graph, node: Node) -> int:
    """Return the number of products summed in one element, from the operands' sizes."""
    shapes = [shape for name in node.inputs if (shape := graph.node(name).shape)]
    if "conv" not in node.op:
        return shapes[0][-1] if shapes else 1
    if len(shapes) > 1:
        return prod(shapes[1][1:])
    channels, groups = node.attributes.get("in_channels", 1), node.attributes.get("groups", 1)
    return (
        prod(_sizes(node.attributes.get("kernel_size")))
        * _whole_number(channels)
        // _whole_number(groups)
    )


def _sizes(value: object) -> Iterable[int]:
    return map(_whole_number, value) if isinstance(value, list | tuple) else (_whole_number(value),)


def _whole_number(value: object) -> int:
    return value if isinstance(value, int) and value > 0 else 1
