"""BLD013: an array in device code whose size is only known at run time."""

from __future__ import annotations

from collections.abc import Iterator

from tree_sitter import Node

from grader.records import Context, Finding, Fix
from grader.rules.rule import Rule
from grader.source import Function, SharedArray, Source, Unit
from grader.source.analysis.diagnostics import confirming
from grader.source.code_edits import fix, replace_node
from grader.source.constants import fold
from grader.source.cpp_types import declaration_of
from grader.source.cuda_code import around, cuda_code, text

BUILT_IN = {"blockDim", "gridDim", "threadIdx", "blockIdx"}


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Look at the extents of the arrays that kernels and device functions declare."""
    for unit in source.cuda:
        for node in cuda_code(unit).of("array_declarator"):
            function = cuda_code(unit).function(node)
            if function is None or function.runs == "host" or _is_parameter(node):
                continue
            extent = node.child_by_field_name("size")
            culprit = _variable(unit, function, extent) if extent is not None else None
            if extent is not None and culprit is not None:
                yield _finding(unit, function, node, extent, culprit, context)


def _finding(
    unit: Unit, function: Function, node: Node, extent: Node, culprit: str, context: Context
) -> Finding:
    place = unit.place(node)
    evidence = confirming(context, ("not-constant",), lines=(place.line,))
    shared = next((one for one in function.shared if _within(node, one.node)), None)
    return RULE.finding(
        place,
        f"the size of this array depends on {culprit}, which is only known when the kernel runs; "
        "arrays in device code need a constant size",
        evidence=evidence,
        fixes=_make_dynamic(unit, function, shared, extent) if shared is not None else (),
    )


def _is_parameter(node: Node) -> bool:
    return any(outer.type in {"parameter_declaration", "parameter_list"} for outer in around(node)
               if outer.type != "compound_statement")  # fmt: skip


def _within(node: Node, outer: Node) -> bool:
    return outer.start_byte <= node.start_byte < outer.end_byte


def _variable(unit: Unit, function: Function, extent: Node) -> str | None:
    """Return the name that makes an extent variable, or None where it is or may be constant."""
    if fold(unit, extent) is not None:
        return None
    templates = {one.name for one in function.template_parameters}
    todo = [extent]
    while todo:
        node = todo.pop()
        if node.type == "identifier":
            name = text(node)
            if name in BUILT_IN:
                return f"{name}.x"
            if name not in templates and _runtime(unit, function, node):
                return name
        elif node.type != "sizeof_expression":
            todo += node.named_children
    return None


def _runtime(unit: Unit, function: Function, node: Node) -> bool:
    """Whether a name is a parameter or a local that no constant initialises."""
    declared = declaration_of(unit, node)
    if declared is None or not _within(declared, function.node):
        return False
    for outer in around(declared):
        if outer.type in {"parameter_declaration", "optional_parameter_declaration"}:
            return outer.parent is not None and outer.parent.type == "parameter_list"
        if outer.type == "declaration":
            words = {text(child) for child in outer.children if child.type == "type_qualifier"}
            if "constexpr" in words:
                return False
            return "const" not in words or _initialised_at_runtime(unit, function, outer)
    return False


def _initialised_at_runtime(unit: Unit, function: Function, declaration: Node) -> bool:
    declarator = declaration.child_by_field_name("declarator")
    value = declarator.child_by_field_name("value") if declarator is not None else None
    return value is not None and _variable(unit, function, value) is not None


def _make_dynamic(
    unit: Unit, function: Function, array: SharedArray, extent: Node
) -> tuple[Fix, ...]:
    """Declare it `extern` and reserve the size, by the launch's own argument, at each launch."""
    launches = [one for one in unit.launches if one.kernel == function.name]
    if len(array.dims) != 1 or not launches or any(one.dynamic for one in function.shared):
        return ()
    kind = array.element_type
    edits = [replace_node(unit, array.node, f"extern __shared__ {kind} {array.name}[];")]
    if function.template_parameters:
        return ()
    if all(
        launch.shared is not None for launch in launches
    ):  # its size comes with the launch already
        return fix(f"make {array.name} dynamic shared memory", edits)
    for launch in launches:
        size = _at_launch(function, extent, launch.block, launch.arguments)
        if size is None or launch.shared is not None or launch.block is None:
            return ()
        end = launch.block.end_byte
        edits.append(unit.edit(end, end, f", ({size}) * sizeof({kind})"))
    return fix(f"make {array.name} dynamic shared memory", edits)


def _at_launch(
    function: Function, extent: Node, block: Node | None, arguments: tuple[Node, ...]
) -> str | None:
    """Return the extent in the words of the launch."""
    if text(extent) == "blockDim.x" and block is not None:
        plain = {"identifier", "number_literal"}
        return text(block) if block.type in plain else None
    for parameter, argument in zip(function.parameters, arguments, strict=False):
        if parameter.name == text(extent):
            return text(argument)
    return None


RULE = Rule(
    code="BLD013",
    name="array-bound-not-constant",
    severity="error",
    summary="An array in the kernel has a size that is only known at run time; device code does not allow that.",
    why="Fixed arrays need a constant size. For shared memory declare the array `extern` and give "
    "its bytes with the launch; for a local array take a template parameter or a fixed maximum.",
    bad="""
__global__ void k(const float* x, float* y, int n) {
    __shared__ float s[n];
    s[threadIdx.x] = x[threadIdx.x];
    y[threadIdx.x] = s[threadIdx.x];
}
torch::Tensor f(torch::Tensor x) {
    int threads = 128;
    k<<<1, threads>>>(x.data_ptr<float>(), x.data_ptr<float>(), threads);
    return x;
}
""",
    good="""
#define TILE 16
constexpr int WARPS = 8;
template <int N> __global__ void k(const float* x, float* y, int n, const float weights[]) {
    const int rows = TILE * 2;
    __shared__ float s[rows][WARPS + 1];
    float mine[N];
    extern __shared__ float t[];
    y[threadIdx.x] = mine[0] + s[0][0] + t[n];
}
torch::Tensor f(torch::Tensor x) {
    int sizes[3];
    return x;
}
""",
    detects=("text", "build"),
    languages=("cuda",),
    guards="Macros, constexpr, constants initialised by constants and template parameters are "
    "constant. Host code may use arrays of variable size.",
    fix="Makes a shared array dynamic and reserves its size with the launch's own argument.",
    check=check,
)
