"""PRF004: an unnecessary pass over memory: it is read twice, or filled before it is written."""

from collections.abc import Iterator

from tree_sitter import Node

from grader.rules import Context, Finding, Source, rule_of
from grader.source import Function
from grader.source.analysis.cases import Case, cases
from grader.source.analysis.host_code import made_by
from grader.source.analysis.kernel_accesses import Access, accesses
from grader.source.definitions import definitions
from grader.source.indices import Reader
from grader.source.nodes import names_in, text
from grader.source.statements import enclosing_loops

HEADS = ("initializer", "condition", "update")


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Look for loads at the same addresses in two loops, and for zeros that one plain store for each element replaces."""
    yield from _reads(source)
    yield from _fills(source, context)


def _reads(source: Source) -> Iterator[Finding]:
    """Look for loads at the same addresses in two loops."""
    for unit in source.cuda:
        for kernel in unit.kernels:
            for first, second in list(_pairs(kernel))[:1]:
                line = unit.place(second.node).line
                yield RULE.finding(
                    unit.place(second.node),
                    f"line {line} reads `{second.parameter}` a second time, all of it, after line {unit.place(first.node).line}: one pass over "
                    "global memory more than needed",
                    confidence="possible",
                    kernels=(kernel.name,),
                )


def _pairs(kernel: Function) -> Iterator[tuple[Access, Access]]:
    """Yield equal loads in different loops with the same head."""
    first: dict[tuple[str, ...], tuple[Access, Node]] = {}
    for one in accesses(kernel):
        loop = next(enclosing_loops(one.node), None) if one.kind == "load" else None
        if loop is None or not _moved_names(loop) & names_in(one.node):
            continue
        heads = ("".join(text(loop.child_by_field_name(head)).split()) for head in HEADS)
        before, other = first.setdefault((text(one.node), *heads), (one, loop))
        if other != loop:
            yield before, one


def _moved_names(loop: Node) -> set[str]:
    """Return the names that change in each iteration."""
    return names_in(loop.child_by_field_name("update")) | {one.name for one in definitions(loop)}


def _fills(source: Source, context: Context) -> Iterator[Finding]:
    """Look for zeros that one plain store for each element replaces."""
    seen: set[int] = set()
    for case in cases(source, context):
        for one in case.accesses:
            tensor = case.tensor(one.parameter)
            if tensor is None or tensor.origin != "zeros" or tensor.node.id in seen:
                continue
            if _is_complete(case, one):
                seen.add(tensor.node.id)
                yield RULE.finding(
                    case.place(tensor.node),
                    f"`{one.parameter}` is filled with zeros, and `{case.kernel}` then stores every element of it: one write of the whole "
                    "buffer for nothing",
                    fixes=made_by(case, tensor, "zeros", "empty", "do not fill it first"),
                    kernels=(case.kernel,),
                )


def _is_complete(case: Case, one: Access) -> bool:
    """Whether each thread of the grid stores the element of its own index, and the kernel doesn't use the buffer otherwise."""
    kinds = {other.kind for other in case.accesses if other.parameter == one.parameter}
    index = one.node.child_by_field_name("indices")
    name = text(index).strip("[]() ")
    made = Reader(case.function).made_of(name)
    words = text(made) if made is not None else name
    own = all(word in words for word in ("blockIdx", "blockDim", "threadIdx"))
    return kinds == {"store"} and own and not next(enclosing_loops(one.node), None)


RULE = rule_of(__file__, check)
