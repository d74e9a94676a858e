"""IDX001: an index doesn't fit in 32 bits at the task's sizes."""

from __future__ import annotations

from collections.abc import Iterator

from tree_sitter import Node

from grader.records import Context, Edit, Finding, Fix, Task, TensorSpec, Workload
from grader.records.observed import observed, wrapped
from grader.rules.proofs import settle
from grader.rules.rule import Example, Rule
from grader.source import Source, Unit
from grader.source.analysis.walks import Case, cases, full_size_of, spans
from grader.source.code_edits import fix
from grader.source.cuda_code import descendants, one_line, text
from grader.source.flow import Event


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Compute the indices of the last block at the task's sizes; join what a run there showed."""
    overflowed = [item for item in observed(context, "oob") if wrapped(item)]
    for finding in settle(RULE, _of_text(source, context), overflowed, spans(source)):
        fixes = finding.fixes or tuple(_of_line(source, finding))
        yield finding.model_copy(update={"fixes": fixes})


def _of_text(source: Source, context: Context) -> tuple[tuple[str, Finding], ...]:
    found: list[tuple[str, Finding]] = []
    seen: set[tuple[str, int]] = set()
    for name in ("main", "full"):
        at = full_size_of(context, name)
        for case in cases(source, context, name):
            for event in _overflows(case):
                key = (case.kernel, case.line(event.node))
                if key not in seen and not _fed(event, seen, case):
                    seen.add(key)
                    found.append((case.kernel, _finding(case, event, at)))
    return tuple(found)


def _overflows(case: Case) -> Iterator[Event]:
    """Yield where an index of the first or the last block passes what 32 bits hold."""
    if not case.sizes.complete or not _large(case):
        return
    for walk in (case.walk, case.flow.last_block(case.walk)):
        events = walk.events if walk is not None else ()
        yield from (event for event in events if event.kind == "int-overflow")


def _large(case: Case) -> bool:
    """Whether an index into one of the tensors can come near to what 32 bits hold."""
    tensors = (t for run in case.flow.host(case.sizes) for t in run.tensors)
    return any(tensor.numel is None or tensor.numel >= LARGE for tensor in tensors)


LARGE = 1 << 28


def _fed(_event: Event, seen: set[tuple[str, int]], case: Case) -> bool:
    """Whether another overflow of the kernel was reported: what it feeds overflows as well."""
    return any(kernel == case.kernel for kernel, _ in seen)


def _finding(case: Case, event: Event, workload: str) -> Finding:
    return RULE.finding(
        case.place(event.node),
        f"`{one_line(event.node, 60)}` reaches {event.data['value']} at the task's size, and a 32-bit int ends at 2147483647: it wraps to "
        "a negative number and the wrong memory is read",
        fixes=_widen(case.unit, event.node),
        workload=workload,
        kernels=(case.kernel,),
    )


def _of_line(source: Source, finding: Finding) -> Iterator[Fix]:
    """Yield the fixes for what a run saw wrap: the index of that line, or the variable that holds it or points there."""
    if finding.place is None:
        return
    for unit in source.cuda:
        for kernel in unit.kernels:
            indices = [
                index
                for read in (
                    *descendants(kernel.node, "subscript_expression"),
                    *descendants(kernel.node, "pointer_expression"),
                )
                if unit.place(read).line == finding.place.line
                for index in _indices(read)
            ]
            for index in indices:
                if index.type == "parenthesized_expression":
                    yield from fix("compute the offset in 64 bits", _offsets(unit, index))
                elif "*" in text(index) and index.type == "binary_expression":
                    yield from _widen(unit, index)
            names = {
                text(name)
                for index in indices
                for name in (index, *descendants(index, "identifier"))
            }
            for declared in descendants(kernel.node, "init_declarator"):
                value = declared.child_by_field_name("value")
                name = text(declared.child_by_field_name("declarator"))
                if value is None or value.type != "binary_expression":
                    continue
                if name in names:
                    yield from _widen(unit, value)
                elif name.lstrip("*& ") in names:
                    yield from fix("compute the offset in 64 bits", _offsets(unit, value))


def _indices(read: Node) -> Iterator[Node]:
    """Yield what an access is indexed by: the index of a subscript, or the pointer itself."""
    if read.type == "pointer_expression":
        pointer = read.child_by_field_name("argument")
        if pointer is not None and text(read).startswith("*"):
            yield pointer
        return
    for arguments in descendants(read, "subscript_argument_list"):
        yield from arguments.named_children


def _offsets(unit: Unit, value: Node) -> list[Edit | None]:
    """Compute the products that are added to a pointer in 64 bits."""
    edits: list[Edit | None] = []
    while value.type == "parenthesized_expression":
        value = value.named_children[0]
    while value.type == "binary_expression":
        left, right = value.child_by_field_name("left"), value.child_by_field_name("right")
        if left is None or right is None or text(value.child_by_field_name("operator")) != "+":
            break
        if right.type == "binary_expression":
            edits.append(unit.edit(right.start_byte, right.start_byte, "(long long)"))
        value = left
    return edits


def _widen(unit: Unit, node: Node) -> Iterator[Fix]:
    """Compute the first factor in 64 bits, and keep the result in 64 bits."""
    first = node
    while first.type == "binary_expression":
        left = first.child_by_field_name("left")
        if left is None:
            break
        first = left
    if first.type == "declaration":
        products = list(descendants(first, "binary_expression"))
        while products and products[0].child_by_field_name("left") is not None:
            left = products[0].child_by_field_name("left")
            if left is None or left.type != "binary_expression":
                first = left if left is not None else first
                break
            products = [left]
    edits = [unit.edit(first.start_byte, first.start_byte, "(long long)")]
    here = node
    while (
        here.parent is not None
        and here.type != "declaration"
        and not here.type.endswith("statement")
    ):
        here = here.parent
    kind = here.child_by_field_name("type") if here.type == "declaration" else None
    if kind is not None and text(kind) in {"int", "unsigned int", "int32_t", "unsigned"}:
        edits.append(unit.edit(kind.start_byte, kind.end_byte, "long long"))
    if first.type != "declaration":
        yield from fix("compute the index in 64 bits", edits)


def _task(rows: int, cols: int) -> Task:
    shape = TensorSpec(shape=(rows, cols))
    return Task(
        name="t",
        title="t",
        source="file",
        reference="",
        workloads=(Workload(name="w", role="nominal", inputs=(shape,)),),
    )


_CODE = """
__global__ void copy(const float* x, float* y, int dim) {
    int start = blockIdx.x * dim;
    for (int i = threadIdx.x; i < dim; i += blockDim.x) y[start + i] = x[start + i];
}
torch::Tensor run(torch::Tensor x) {
    auto y = torch::empty_like(x);
    copy<<<x.size(0), 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(1));
    return y;
}
"""

RULE = Rule(
    code="IDX001",
    name="index-overflows-int32",
    severity="error",
    summary="With this many elements the 32-bit index wraps to a negative number and the kernel reads the wrong place.",
    why="The product of two ints is an int, also where the sum of both would be used as a 64-bit "
    "address. Cast the first factor to `long long` (or `size_t`, `int64_t`) before multiplying.",
    bad=Example(_CODE, Context(task=_task(70_000, 65_536))),
    good=Example(_CODE, Context(task=_task(32_768, 65_535))),
    detects=("text", "evidence"),
    guards="Only where an index computed for the task's own sizes passes the limit: two of three real kernels use int, and almost all of "
    "them never get there.",
    fix="Widens the multiplication and the variable.",
    check=check,
)
