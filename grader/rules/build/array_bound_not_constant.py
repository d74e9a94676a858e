"""BLD013: an array in device code whose size is only known at run time."""

from collections.abc import Iterator

from tree_sitter import Node

from grader.rules import Context, Finding, Fix, Source, Unit, fix, rule_of
from grader.source import Function
from grader.source.analysis.diagnostics import errors_by_line
from grader.source.code_edits import replace_node
from grader.source.nodes import one_line, text


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Look at the arrays of device code on the lines that the compiler refuses."""
    refused = errors_by_line(context, ("not-constant",))
    for unit in source.cuda if refused else ():
        for node in unit.nodes("array_declarator"):
            place, extent = unit.place(node), node.child_by_field_name("size")
            function = unit.function_around(node)
            if function is not None and extent is not None and place.line in refused:
                yield RULE.finding(
                    place,
                    f"the size `{one_line(extent)}` of this array is only known when the kernel runs; "
                    "arrays in device code need a constant size",
                    evidence=refused[place.line],
                    fixes=_fixes(unit, function, node, extent),
                )


def _fixes(unit: Unit, function: Function, node: Node, extent: Node) -> Iterator[Fix]:
    """Write the number that all launches give, or reserve the size with each of them."""
    names = [one.name for one in function.parameters]
    launches = [one for one in unit.launches if one.kernel == function.name]
    given = (dict(zip(names, one.arguments, strict=False)).get(text(extent)) for one in launches)
    numbers = {text(value) for value in given}
    if len(numbers) == 1 and min(numbers).isdigit():
        yield from fix(f"write the size {min(numbers)}", [replace_node(unit, extent, min(numbers))])
    yield from _dynamic(unit, function, node, extent)


def _dynamic(unit: Unit, function: Function, node: Node, extent: Node) -> Iterator[Fix]:
    """Declare it `extern` and reserve the size that the launches are given for it, or with their block."""
    within = (a for a in function.shared if a.node.start_byte <= node.start_byte < a.node.end_byte)
    array = next(within, None)
    launches = [one for one in unit.launches if one.kernel == function.name]
    if array is None or len(array.sizes) != 1 or not launches or function.template_parameters:
        return
    kind, names = array.type, [one.name for one in function.parameters]
    edits = [replace_node(unit, array.node, f"extern __shared__ {kind} {array.name}[];")]
    for launch in (one for one in launches if one.shared is None):
        given = dict(zip(names, launch.arguments, strict=False)) | {"blockDim.x": launch.block}
        size, block = given.get(text(extent)), launch.block
        if size is None or block is None or any(one.extern for one in function.shared):
            return
        edits.append(
            unit.edit(block.end_byte, block.end_byte, f", ({text(size)}) * sizeof({kind})")
        )
    yield from fix(f"make {array.name} dynamic shared memory", edits)


RULE = rule_of(__file__, check)
