"""IDX001: an index doesn't fit in 32 bits at the task's sizes."""

from collections.abc import Iterator
from itertools import islice

from tree_sitter import Node

from grader.records.observed import has_wrapped, kernel_of, observed_evidence
from grader.rules import Context, Finding, Fix, Source, Unit, fix, rule_of
from grader.rules.proofs import once, report_by_line
from grader.source.analysis.cases import Case, LastThread, cases, full_size_of, spans
from grader.source.cpp import Binary, walk
from grader.source.cpp_types import type_of
from grader.source.nodes import around, descendants, one_line, text

LARGE = 1 << 28
"""Least number of a tensor's elements whose indices may overflow 32 bits."""
HOLDS = {"int": 1 << 31, "unsigned": 1 << 32}
"""First number that exceeds each type."""
NARROW = frozenset({"int", "unsigned int", "int32_t", "unsigned"})


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Compute the indices of the last block at the task's sizes, and add evidence of a run there."""
    overflowed = [item for item in observed_evidence(context, "oob") if has_wrapped(item)]
    for finding in (*once(_of_text(source, context)), *report_by_line(RULE, overflowed)):
        fixes = finding.fixes or tuple(_of_line(source, finding))
        kernel = next((kernel_of(item, spans(source)) for item in finding.evidence), "")
        cause = f"overflow {kernel or finding.kernels[0]}"
        yield finding.model_copy(update={"fixes": fixes, "cause": cause})


def _of_text(source: Source, context: Context) -> Iterator[Finding]:
    """Yield the first overflow of each launch, since values computed from it overflow too."""
    for name in ("main", "full"):
        for case in cases(source, context, name):
            for node, most in islice(_overflows(case), 1):
                yield RULE.finding(
                    case.place(node),
                    f"`{one_line(node, 60)}` reaches {most} at the task's size, and a 32-bit int ends at "
                    "2147483647: it wraps to a negative number and the wrong memory is read",
                    fixes=_widen_products(case.unit, node),
                    workload=full_size_of(context, name),
                    kernels=(case.kernel,),
                )


def _overflows(case: Case) -> Iterator[tuple[Node, int]]:
    """Yield the products that exceed their 32-bit type, in launches with a large tensor."""
    tensors = (t for run in case.flow.host(case.sizes) for t in run.tensors)
    large = any(tensor.numel is None or tensor.numel >= LARGE for tensor in tensors)
    numbers = LastThread(case) if case.sizes.complete and large else None
    for part in walk(case.function.code) if numbers is not None else ():
        if isinstance(part, Binary) and part.op in {"*", "+"} and numbers is not None:
            most, kind = numbers.number(part), type_of(case.unit, part.node)
            if most is not None and most >= HOLDS.get(kind or "", most + 1):
                yield part.node, most


def _of_line(source: Source, finding: Finding) -> Iterator[Fix]:
    """Yield the fixes of an overflow seen in a run: the products in the line's addresses, and in their variables."""
    for unit in source.cuda:
        for kernel in unit.kernels:
            accesses = descendants(kernel.node, "subscript_expression", "pointer_expression")
            here = [
                one
                for one in accesses
                if finding.place and unit.place(one).line == finding.place.line
            ]
            names = {text(name) for one in here for name in descendants(one, "identifier")}
            made = descendants(kernel.node, "init_declarator")
            here += [
                one
                for one in made
                if text(one.child_by_field_name("declarator")).lstrip("*& ") in names
            ]
            for one in here:
                yield from _widen_products(unit, one)


def _widen_products(unit: Unit, node: Node) -> tuple[Fix, ...]:
    """Compute the products of an index in 64 bits, and keep a variable of them in 64 bits."""
    products = [one for one in descendants(node, "binary_expression") if _is_product(one)]
    outermost = [one for one in products if one.parent is None or not _is_product(one.parent)]
    edits = [unit.edit(one.start_byte, one.start_byte, "(long long)") for one in outermost]
    declared = next((one for one in (node, *around(node)) if one.type == "declaration"), None)
    kind = declared.child_by_field_name("type") if declared is not None else None
    pointer = declared is not None and any(descendants(declared, "pointer_declarator"))
    if edits and kind is not None and text(kind) in NARROW and not pointer:
        edits.append(unit.edit(kind.start_byte, kind.end_byte, "long long"))
    return fix("compute the index in 64 bits", edits)


def _is_product(node: Node) -> bool:
    return node.type == "binary_expression" and text(node.child_by_field_name("operator")) == "*"


RULE = rule_of(__file__, check)
