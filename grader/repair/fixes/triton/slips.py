"""Fixes of wrong values in Triton: the small slips that change a formula, an axis, an accumulator or an order."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import islice, pairwise

from grader.records import Context, Finding, Fix
from grader.repair.fixes.maker import FixMaker
from grader.source import Source
from grader.source.analysis.triton import Kernel, kernels, last_store, launches
from grader.source.code_edits import fix, replace

MOST = 16


def propose(finding: Finding, source: Source, context: Context) -> Iterator[Fix]:
    """Yield the likeliest slips, a few of each kind."""
    del context
    codes = {item.code for item in finding.evidence}
    makers = [_accumulators, _loop_starts, _orders, _scales, _roots]
    if codes & {"constant-factor", "row-factor", "probe-degree"}:
        makers = [_scales, _roots, *makers[:3]]
    found = (one for make in makers for one in make(source))
    yield from islice(found, MOST)


def _accumulators(source: Source) -> Iterator[Fix]:
    """Yield sums that were overwritten: `acc = x` in a loop becomes `acc += x`."""
    for kernel in kernels(source):
        for loop in (node for node in ast.walk(kernel.node) if isinstance(node, ast.For)):
            for node in loop.body:
                if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                    name = node.targets[0].id
                    before = [v for v in kernel.assigned.get(name, ()) if v.lineno < loop.lineno]
                    if before and name not in kernel.names_behind(node.value):
                        text = f"{name} += {source.text(node.value)}"
                        yield from fix(f"add to {name}", [replace(source, node, text)])


def _loop_starts(source: Source) -> Iterator[Fix]:
    """Yield loops that begin at the first element."""
    for kernel in kernels(source):
        for loop in (node for node in ast.walk(kernel.node) if isinstance(node, ast.For)):
            if isinstance(loop.iter, ast.Call) and len(loop.iter.args) > 1:
                start = loop.iter.args[0]
                if isinstance(start, ast.Constant) and start.value == 1:
                    yield from fix("begin with the first element", [replace(source, start, "0")])


def _orders(source: Source) -> Iterator[Fix]:
    """Yield launches with two neighbouring tensors, or two neighbouring strides, in the other order."""
    for launch in launches(source):
        given = launch.call.args
        for first, second in pairwise(given):
            if _alike(first, second):
                edits = [
                    replace(source, first, source.text(second)),
                    replace(source, second, source.text(first)),
                ]
                yield from fix("swap two arguments", edits)


def _alike(first: ast.expr, second: ast.expr) -> bool:
    """Whether two arguments are of one kind: names of tensors, attributes, strides of one tensor."""
    if isinstance(first, ast.Call) and isinstance(second, ast.Call):
        return (
            isinstance(first.func, ast.Attribute)
            and first.func.attr == "stride"
            and ast.unparse(first.func) == ast.unparse(second.func)
        )
    return type(first) is type(second) and isinstance(first, ast.Name | ast.Attribute)


def _scales(source: Source) -> Iterator[Fix]:
    """Yield a division of what is stored, or summed at the end, by a count."""
    store = last_store(source)
    for launch in launches(source)[-1:]:
        value = store.arguments.get("value") if store else None
        if value is not None:
            text = source.text(value)
            for name in _counts(launch.kernel):
                edit = replace(source, value, f"({text}) / {name}")
                yield from fix(f"divide by {name}", [edit])
        for node in ast.walk(launch.host) if launch.host else ():
            if isinstance(node, ast.Return) and isinstance(node.value, ast.Call):
                called = node.value.func
                if isinstance(called, ast.Attribute) and called.attr == "sum":
                    for name in _host_counts(launch.host):
                        text = f"{source.text(node.value)} / {name}"
                        yield from fix(f"divide by {name}", [replace(source, node.value, text)])
                    mean = source.text(node.value).replace(".sum(", ".mean(")
                    yield from fix("average", [replace(source, node.value, mean)])


def _counts(kernel: Kernel) -> Iterator[str]:
    for name in kernel.parameters:
        if name not in kernel.pointers and name not in kernel.constants and "stride" not in name:
            yield name


def _host_counts(host: ast.FunctionDef | None) -> Iterator[str]:
    for node in ast.walk(host) if host else ():
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            if isinstance(node.value, ast.Call) and ast.unparse(node.value).endswith(".numel()"):
                yield node.targets[0].id


def _roots(source: Source) -> Iterator[Fix]:
    """Yield the root of a sum that is divided by, or that stands for a norm."""
    for kernel in kernels(source):
        for total in kernel.calls("sum"):
            text = source.text(total)
            yield from fix("take the root", [replace(source, total, f"tl.sqrt({text})")])
        for node in ast.walk(kernel.node):
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
                below = node.right
                if isinstance(below, ast.BinOp) and isinstance(below.op, ast.Add):
                    text = f"tl.sqrt({source.text(below)})"
                    yield from fix("take the root", [replace(source, below, text)])


FIX = FixMaker(("NUM001", "DEP001", "DEP002", "DEP003"), propose, order=2)
