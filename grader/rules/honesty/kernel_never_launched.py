"""CHT003: a kernel that never runs, or whose result goes nowhere."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tree_sitter import Node

from grader.records import Context, Finding
from grader.records.observed import KERNELS_MATTER, seen_wrong
from grader.rules.rule import Rule
from grader.source import Kernel, Source, Unit, nodes_under
from grader.source.analysis.data_flow import depends, parameters, tainted
from grader.source.analysis.extension_use import (
    computes_with_torch,
    holders,
    mentions,
    refers,
    uses_operators,
)
from grader.source.analysis.started_kernels import is_started
from grader.source.analysis.triton import kernels as triton_kernels
from grader.source.analysis.triton import launches as triton_launches
from grader.source.code_edits import delete_lines_of, fix
from grader.source.cuda_code import units
from grader.source.library_calls import library_calls
from grader.source.python_code import Function, PythonCode, python_code


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Follow the way from forward to the launch of each kernel, and back to what is returned."""
    yield from _kernels(source)
    code = python_code(source)
    own = "the extension" if source.extensions else "the kernel"
    if code is None or code.model is None or not (source.extensions or triton_kernels(source)):
        return
    forward = code.method("forward")
    if forward is None or uses_operators(code):
        return
    names = holders(source, code)
    if not names:
        return
    used = any(refers(node, names) for function in code.reached for node in code.live(function))
    if not used and not context.launches:  # launches were seen inside forward
        written = any(mentions(function, names) for function in code.reached)
        torch_does_it = _torch_does_it(code)
        yield RULE.finding(
            source.line_place(forward.lineno),
            (
                f"the branch of forward that calls {own} never runs"
                if written
                else f"forward never calls {own}"
            )
            + ": the kernels play no part in the result",
            severity="error" if torch_does_it or seen_wrong(context) else "warning",
            rejects=torch_does_it,
        )
        return
    matter = any(item.code == KERNELS_MATTER for item in context.seen("probe"))
    yield from _thrown_away(source, code, forward, names, matter=matter)


# kernels that nothing launches


def _kernels(source: Source) -> Iterator[Finding]:
    if not all(unit.resolved for unit in source.cuda) or any(
        unit.tree.has_error for unit in source.cuda
    ):
        return
    kernels = [(unit, kernel) for unit in source.cuda for kernel in unit.kernels]
    started = {name: is_started(source, name) for name in {kernel.name for _, kernel in kernels}}
    idle = [(unit, kernel) for unit, kernel in kernels if not started[kernel.name]]
    if not idle:
        return
    if len(idle) == len(kernels):
        unit, kernel = idle[0]
        names = ", ".join(kernel.name for _, kernel in idle[:3])
        called = next((pair for one in units(source) for pair in library_calls(one)), None)
        instead = f"; {called[1].last} computes in their place" if called else ""
        yield RULE.finding(
            unit.place_span(kernel.node.start_byte, _head_end(kernel)),
            f"nothing launches {names}: no kernel of this submission ever runs{instead or _bound(source, idle)}",
            severity="warning" if called else "error",
            kernels=[kernel.name for _, kernel in idle],
        )
        return
    for unit, kernel in idle:
        yield RULE.finding(
            unit.place_span(kernel.node.start_byte, _head_end(kernel)),
            f"the kernel {kernel.name} is never launched",
            severity="note",
            predicts="no-launch",
            fixes=fix(f"delete {kernel.name}", [delete_lines_of(unit, _with_template(kernel))]),
            kernels=[kernel.name],
        )


def _bound(source: Source, idle: list[tuple[Unit, Kernel]]) -> str:
    """Return a remark where a kernel is handed to Python itself."""
    names = {kernel.name for _, kernel in idle}
    targets = {binding.target for unit in source.units for binding in unit.bindings}
    targets.update(name for one in source.extensions for name in one.functions or ())
    handed = sorted(names & targets)
    return f"; Python is handed {handed[0]} itself, and can launch none" if handed else ""


def _head_end(kernel: Kernel) -> int:
    return kernel.body.start_byte if kernel.body is not None else kernel.node.end_byte


def _with_template(kernel: Kernel) -> Node:
    parent = kernel.node.parent
    inside = parent is not None and parent.type == "template_declaration"
    return parent if inside and parent is not None else kernel.node


# results that go nowhere


def _thrown_away(
    source: Source, code: PythonCode, forward: Function, names: set[str], *, matter: bool
) -> Iterator[Finding]:
    """Follow the results of kernels; one that works in place on a view is seen to `matter` only."""

    def starts(node: ast.AST) -> bool:
        return isinstance(node, ast.Call) and mentions(node.func, names)

    given = set(parameters(forward))
    from_kernel = tainted(forward, set(names), starts)
    returns = [
        node
        for node in nodes_under(forward)
        if isinstance(node, ast.Return)
        and node.value is not None
        and code.function_of(node) is forward
    ]
    calls = [node for node in nodes_under(forward) if isinstance(node, ast.Call) and starts(node)]
    if not returns or not calls:
        return
    by_value = [one for one in returns if depends(one.value, from_kernel - given, starts)]
    in_place = [one for one in returns if isinstance(one.value, ast.Name) and one.value.id in given]
    computed = [one for one in returns if _computes(code, one, forward)]
    unused = not matter and not by_value and not in_place
    if unused and computed and not _all_void(source, calls) and not _writes_into(source, given):
        yield RULE.finding(
            source.place(computed[0]),
            f"the result of the kernel (line {calls[0].lineno}) is not what is returned: PyTorch computes that",
            severity="error",
            rejects=True,
        )
    for node, other in _times_zero(forward):
        if depends(other, from_kernel - given, starts):
            yield RULE.finding(
                source.place(node),
                "the kernel's result is multiplied by zero: it plays no part in what is returned",
                severity="error",
                rejects=True,
            )


def _times_zero(forward: Function) -> Iterator[tuple[ast.BinOp, ast.expr]]:
    """Yield each product with zero, and what is multiplied by it."""
    for node in nodes_under(forward):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
            for zero, other in ((node.left, node.right), (node.right, node.left)):
                if _is_zero(zero):
                    yield node, other


def _computes(code: PythonCode, node: ast.Return, forward: Function) -> bool:
    value = node.value
    if isinstance(value, ast.Name):
        made = [
            one.value
            for one in nodes_under(forward)
            if isinstance(one, ast.Assign)
            and any(isinstance(t, ast.Name) and t.id == value.id for t in one.targets)
        ]
        return any(next(computes_with_torch(code, one), None) for one in made)
    return value is not None and next(computes_with_torch(code, value), None) is not None


def _writes_into(source: Source, given: set[str]) -> bool:
    """Whether a Triton kernel may write into one of these names, or into what no name tells."""
    for one in triton_launches(source):
        stored = {
            one.kernel.parameter_of(access)
            for access in one.kernel.accesses
            if access.kind != "load"
        }
        targets = [one.arguments.get(name) for name in stored]
        if not all(isinstance(to, ast.Name) and to.id not in given for to in targets):
            return True
    return False


def _all_void(source: Source, calls: list[ast.Call]) -> bool:
    """Whether the functions called return nothing, so that they must write into an argument."""
    if triton_launches(source):
        return False
    kinds = {
        function.name: function.return_type
        for unit in source.units
        for function in (*unit.functions, *unit.declarations)
    }
    names = [call.func.attr for call in calls if isinstance(call.func, ast.Attribute)]
    return all("Tensor" not in kinds.get(name, "void") for name in names)


def _is_zero(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and node.value in (0, 0.0) and node.value is not False


def _torch_does_it(code: PythonCode) -> bool:
    return any(
        next(computes_with_torch(code, function), None) is not None for function in code.reached
    )


RULE = Rule(
    code="CHT003",
    name="kernel-never-launched",
    severity="warning",
    summary="A kernel is written but never started, or forward never reaches it; the work is done by something else.",
    why="The file looks like a CUDA answer and is PyTorch. Either the launch was forgotten, or the kernel is a decoy.",
    bad="""
__global__ void fast(const float* x, float* y) { y[threadIdx.x] = x[threadIdx.x]; }
torch::Tensor f(torch::Tensor x) {
    return torch::relu(x);
}
""",
    good="""
template <typename T> __global__ void a(T* y) { y[threadIdx.x] = T(1); }
__global__ void b(float* y) { y[threadIdx.x] = 1.0f; }
__global__ void c(float* y) { y[threadIdx.x] = 1.0f; }
#define LAUNCH(kernel, ...) kernel<<<1, 32>>>(__VA_ARGS__)
torch::Tensor f(torch::Tensor x) {
    a<float><<<1, 32>>>(x.data_ptr<float>());
    float* p = x.data_ptr<float>();
    void* arguments[] = {&p};
    cudaLaunchCooperativeKernel((void*)b, dim3(1), dim3(32), arguments);
    LAUNCH(c, p);
    return x;
}
""",
    detects=("text",),
    guards="Function pointers, cudaLaunchKernel, launching macros, autograd functions, submodules and torch.ops are followed. A kernel "
    "beside others that do run is only a note.",
    fix="Launches the only kernel where a host function has all that it needs ready; deletes one that is not launched beside others.",
    check=check,
    predicts="no-launch",
)
