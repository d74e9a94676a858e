"""STY003: a barrier that protects nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from tree_sitter import Node

from grader.records import Context, Finding
from grader.rules.rule import Rule
from grader.source import Kernel, Source, Unit
from grader.source.code_edits import delete_lines_of, fix
from grader.source.cuda_code import around, descendants, read_call, text

PURE = {
    "sqrt", "sqrtf", "rsqrtf", "rsqrt", "exp", "expf", "__expf", "log", "logf", "fabs", "fabsf",
    "abs",
    "fmaxf", "fminf", "fmax", "fmin", "max", "min", "pow", "powf", "tanh", "tanhf", "static_cast",
    "__shfl_down_sync", "__shfl_xor_sync", "__shfl_sync", "__shfl_up_sync", "fma", "fmaf", "erff",
    "__ldg", "float", "int", "scalar_t", "T", "__fdividef", "floorf", "ceilf", "isnan", "isinf",
    "__ballot_sync", "__float2half", "__half2float", "log1pf", "expm1f", "sinf", "cosf",
    "__syncwarp",
}  # fmt: skip


@dataclass
class Accesses:
    """What a stretch of a kernel reads and writes in memory that threads share."""

    reads: set[str] = field(default_factory=set)
    writes: set[str] = field(default_factory=set)

    def conflicts(self, other: Accesses) -> bool:
        """Whether one side writes what the other one touches."""
        return bool(
            self.writes & (other.reads | other.writes) or other.writes & (self.reads | self.writes)
        )


def check(source: Source, _context: Context) -> Iterator[Finding]:
    """For each barrier of a kernel's own block, compare what stands on its two sides."""
    for unit in source.cuda:
        helpers = {function.name for function in unit.device_functions}
        quiet = {one.name for one in unit.device_functions if _quiet(one.node)}
        for kernel in unit.kernels:
            if kernel.body is not None and not kernel.body.has_error:
                yield from _kernel(unit, kernel, helpers - quiet)


def _quiet(node: Node) -> bool:
    """Whether a device function keeps away from shared memory and barriers."""
    words = text(node)
    return not any(mark in words for mark in ("__shared__", "__syncthreads", "*", "[", "asm"))


def _kernel(unit: Unit, kernel: Kernel, loud: set[str]) -> Iterator[Finding]:
    if kernel.body is None:
        return
    statements = [one for one in kernel.body.named_children if one.type != "comment"]
    barriers = [index for index, one in enumerate(statements) if _is_barrier(one)]
    shared = _names(unit, kernel)
    if not barriers or _unclear(kernel, loud, shared):
        return
    bounds = [-1, *barriers, len(statements)]
    for number, index in enumerate(barriers, 1):
        before = _accesses(statements[bounds[number - 1] + 1 : index], shared)
        after = _accesses(statements[index + 1 : bounds[number + 1]], shared)
        if before.conflicts(after):
            continue
        last = number == len(barriers) and not after.reads and not after.writes
        yield RULE.finding(
            unit.place(statements[index]),
            "this barrier protects nothing: "
            + (
                "nothing after it touches memory that other threads touched"
                if last
                else "no thread reads or overwrites after it what another one touched before it"
            ),
            fixes=fix("delete the barrier", [delete_lines_of(unit, statements[index])]),
        )


def _is_barrier(node: Node) -> bool:
    return node.type == "expression_statement" and text(node).replace(" ", "") == "__syncthreads();"


def _names(unit: Unit, kernel: Kernel) -> set[str]:
    """Return the shared arrays, and the global pointers that the kernel writes through."""
    arrays = {array.name for array in (*kernel.shared, *unit.shared)}
    pointers = {one.name for one in kernel.parameters if one.is_pointer and not one.is_const}
    return arrays | pointers


def _unclear(kernel: Kernel, loud: set[str], shared: set[str]) -> bool:
    """Whether memory may be reached in a way that names do not show."""
    if kernel.body is None:
        return True
    for node in descendants(kernel.body, "call_expression"):
        call = read_call(node)
        if call.last in loud:
            return True
        known = call.last in PURE or call.last == "__syncthreads" or call.last.startswith("atomic")
        if not known and any(text(one) in shared for one in descendants(node, "identifier")):
            return True
    if next(descendants(kernel.body, "gnu_asm_expression", "lambda_expression"), None) is not None:
        return True
    return any(
        any(text(one) in shared for one in descendants(node, "identifier"))
        for node in descendants(kernel.body, "init_declarator")
        if (node.child_by_field_name("declarator") or node).type == "pointer_declarator"
    )


def _accesses(statements: list[Node], shared: set[str]) -> Accesses:
    found = Accesses()
    for statement in statements:
        for node in descendants(statement, "identifier"):
            if text(node) in shared and not _declares(node):
                written, read = _kind(node)
                if written:
                    found.writes.add(text(node))
                if read:
                    found.reads.add(text(node))
    return found


def _declares(node: Node) -> bool:
    return any(outer.type == "array_declarator" for outer in list(around(node))[:2])


def _kind(node: Node) -> tuple[bool, bool]:
    """Return whether an access writes and whether it reads."""
    here = node
    while (
        here.parent is not None
        and here.parent.type == "subscript_expression"
        and (here.parent.child_by_field_name("argument") == here)
    ):
        here = here.parent
    parent = here.parent
    if parent is None or here is node:
        return True, True
    if parent.type == "assignment_expression" and parent.child_by_field_name("left") == here:
        plain = text(parent.child_by_field_name("operator")) == "="
        return True, not plain
    if parent.type in {"update_expression", "pointer_expression"}:
        return True, True
    return False, True


RULE = Rule(
    code="STY003",
    name="needless-barrier",
    severity="note",
    summary="A barrier that protects nothing; it costs a little time and hides which barriers matter.",
    why="Each barrier says that threads exchange data here. One that does not makes the others harder to trust.",
    bad="""
__global__ void k(const float* x, float* y) {
    __shared__ float s[256];
    s[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    y[threadIdx.x] = s[255 - threadIdx.x];
    __syncthreads();
}
""",
    good="""
__device__ float block_sum(float v, float* s) { s[threadIdx.x] = v; __syncthreads(); return s[0]; }
__global__ void k(const float* x, float* y, int tiles) {
    __shared__ float s[256];
    float sum = 0.0f;
    for (int t = 0; t < tiles; ++t) {
        s[threadIdx.x] = x[t * 256 + threadIdx.x];
        __syncthreads();
        for (int j = 0; j < 256; ++j) sum += s[j];
        __syncthreads();
    }
    s[threadIdx.x] = sum;
    __syncthreads();
    y[threadIdx.x] = s[255 - threadIdx.x];
}
__global__ void g(const float* x, float* y) {
    __shared__ float s[256];
    float v = block_sum(x[threadIdx.x], s);
    __syncthreads();
    y[threadIdx.x] = v;
}
""",
    detects=("text",),
    languages=("cuda",),
    guards="Only barriers of the kernel's own block, each taken by itself; kernels whose memory is "
    "reached through helpers, pointers or lambdas are left alone.",
    fix="Deletes the barrier.",
    check=check,
)
