"""BLD013: an array in device code whose size is only known at run time."""

from collections.abc import Iterator

from tree_sitter import Node

from grader.records import Context, Finding, Fix
from grader.rules.page_file import read_page
from grader.rules.rule import Rule
from grader.source import Function, Parameter, Source, Unit
from grader.source.analysis.diagnostics import confirming_errors
from grader.source.code_edits import fix, replace_node
from grader.source.constants import fold
from grader.source.cpp import Declare
from grader.source.cpp_types import declaration_of
from grader.source.cuda_code import around, cuda_code, descendants, text

BUILT_IN = {"blockDim", "gridDim", "threadIdx", "blockIdx"}
PARAMETER = {"parameter_declaration", "optional_parameter_declaration"}


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Look at the extents of the arrays that kernels and device functions declare."""
    for unit in source.cuda:
        for node in cuda_code(unit).of("array_declarator"):
            function, extent = cuda_code(unit).function(node), node.child_by_field_name("size")
            if function is None or function.runs == "host" or extent is None:
                continue
            culprit = _variable(unit, extent)
            if culprit and not any(outer.type in PARAMETER for outer in around(node)):
                line = unit.place(node).line
                yield RULE.finding(
                    unit.place(node),
                    f"the size of this array depends on {culprit}, which is only known when the kernel runs; "
                    "arrays in device code need a constant size",
                    evidence=confirming_errors(context, ("not-constant",), lines=(line,)),
                    fixes=_dynamic(unit, function, node, extent),
                )


def _variable(unit: Unit, extent: Node, known: frozenset[str] = frozenset()) -> str:
    """Return the name that makes an extent variable; empty where it is or may be constant.

    `known` are names on the way to it: a variable that is initialised with itself is followed once.
    """
    if fold(unit, extent) is not None:
        return ""
    for node in descendants(extent, "identifier"):
        if text(node) in BUILT_IN:
            return f"{text(node)}.x"
        declared = declaration_of(unit, node) if text(node) not in known else None
        if declared is not None and _is_variable(unit, declared, known | {text(node)}):
            return text(node)
    return ""


def _is_variable(unit: Unit, declared: Declare | Parameter, known: frozenset[str]) -> bool:
    """Whether a name is a function's parameter, or a local that no constant initialises."""
    if isinstance(declared, Parameter):
        return declared.node.parent is not None and declared.node.parent.type == "parameter_list"
    value = declared.init.node if declared.init is not None else None
    changes = not declared.const or (value is not None and bool(_variable(unit, value, known)))
    return changes and declared is not unit.constants.get(declared.name)


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


RULE = Rule(**read_page(__file__), detects=("text", "build"), languages=("cuda",), check=check)
