"""MEM008: a result buffer starts with whatever was in memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from grader.records import Evidence, Finding, Fix, Place
from grader.rules.cuda_code import text
from grader.rules.memory.hosts import global_regions
from grader.rules.mending import fix
from grader.rules.observed import observed
from grader.rules.rule import Context, Rule
from grader.rules.walks import Case, cases
from grader.source.flow import Access, Tensor
from grader.source.flow.tree import Call, walk

if TYPE_CHECKING:
    from grader.source import Source

FILLS = ("cudaMemset", "cudaMemsetAsync", "cudaMemcpy", "cudaMemcpyAsync")


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Look for buffers from torch::empty that a kernel adds to before it stores anything."""
    written: set[int] = set()
    found: dict[int, Finding] = {}
    for case in cases(source, context):
        for region in global_regions(case):
            tensor = region.tensor
            if tensor is None or tensor.origin != "empty" or tensor.touched or _filled(case):
                continue
            first = _first(case, region.name)
            if first is not None and id(tensor) not in written and tensor.node.id not in found:
                found[tensor.node.id] = _finding(case, tensor, first)
        written |= {
            id(r.tensor)
            for r in case.walk.regions
            if r.tensor is not None and (r.stores or r.escaped)
        }
        written |= {id(t) for t in _opaque(case)}
    proof = (*observed(context, "uninit-global", "unwritten"), *_unwritten(context))
    for finding in found.values():
        yield finding.model_copy(
            update={"confidence": "proven" if proof else finding.confidence, "evidence": proof}
        )
    if proof and not found and not observed(context, "launch"):
        place = next((item.place for item in proof if item.place is not None), None)
        place = place or _partial_store(source, context, proof) or _allocation(source, context)
        yield RULE.finding(
            place,
            proof[0].text,
            confidence="proven",
            evidence=proof,
            data={"cause": "unwritten"},
        )


def _partial_store(source: Source, context: Context, proof: Sequence[Evidence]) -> Place | None:
    """Return the last store to a result of which runs left only a part unwritten."""
    if not any(item.data.get("bytes") != item.data.get("of") for item in proof):
        return None
    for case in cases(source, context):
        returned = {id(t) for run in case.flow.host(case.sizes) for t in run.returned}
        for access in reversed(case.walk.accesses):
            if access.kind == "store" and id(access.region.tensor) in returned:
                return case.place(access.node)
    return None


def _allocation(source: Source, context: Context) -> Place | None:
    """Return where the memory of the result is made, when that leaves it as it was."""
    for case in cases(source, context):
        for run in case.flow.host(case.sizes):
            for tensor in run.returned:
                if tensor.origin == "empty" and tensor.node is not None:
                    return case.place(tensor.node)
    return None


def _unwritten(context: Context) -> tuple[Evidence, ...]:
    """Return the comparisons whose wrong values are what fresh memory holds."""
    return tuple(
        item
        for item in context.evidence
        if item.kind in {"mismatch", "probe"}
        and item.code == "unwritten"
        and not _shared(item, context)
    )


def _shared(item: Evidence, context: Context) -> bool:
    """Whether these are the bits that the simulator fills shared memory with, all ones.

    It fills fresh global memory with others (`kPoison` in simulator/native/alloc.cpp).
    """
    return context.device == "sim" and set(str(item.data.get("bits", ""))[2:]) == {"f"}


def _opaque(case: Case) -> Iterator[Tensor]:
    """Yield the buffers of a kernel that was not followed to its end."""
    if case.walk.stopped:
        yield from (r.tensor for r in case.walk.regions if r.tensor is not None)


def _filled(case: Case) -> bool:
    return any(isinstance(p, Call) and p.name in FILLS for p in walk(case.walk.launch.host.body))


def _first(case: Case, name: str) -> Access | None:
    """Return the access that reads or adds to a buffer before anything is stored in it."""
    if case.walk.stopped:
        return None
    for access in case.walk.accesses:
        if access.region.name == name:
            if access.kind == "store" or not access.sure:
                return None
            return access
    return None


def _finding(case: Case, tensor: Tensor, access: Access) -> Finding:
    name, line = access.region.name, case.line(access.node)
    how = "adds to it with an atomic" if access.kind == "atomic" else "reads it"
    return RULE.finding(
        case.place(tensor.node),
        f"the buffer made here starts with whatever was in memory, and line {line} {how} (as "
        f"`{name}`) before anything was "
        "stored there",
        fixes=_fixes(case, tensor),
        data={"kernel": case.kernel},
    )


def _fixes(case: Case, tensor: Tensor) -> Iterator[Fix]:
    function = tensor.node.child_by_field_name("function")
    name = text(function)
    if "empty" in name:
        yield from fix(
            "start with zeros",
            [
                case.unit.edit(
                    function.start_byte, function.end_byte, name.replace("empty", "zeros")
                )
            ],
        )


RULE = Rule(
    code="MEM008",
    name="output-not-initialised",
    severity="error",
    summary="The result buffer starts with random memory and is added to, or not every element "
    "of it is "
    "written.",
    why="`torch::empty` gives memory as it was left. `atomicAdd` and `+=` add to that, so the "
    "result "
    "differs from run to run. Take `torch::zeros`, or store a first value everywhere.",
    bad="""
__global__ void total(const float* x, float* s, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(s, x[i]);
}
torch::Tensor run(torch::Tensor x) {
    auto s = torch::empty({1}, x.options());
    int n = x.numel();
    total<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), s.data_ptr<float>(), n);
    return s;
}
""",
    good="""
__global__ void total(const float* x, float* s, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(s, x[i]);
}
torch::Tensor run(torch::Tensor x) {
    auto s = torch::zeros({1}, x.options());
    int n = x.numel();
    total<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), s.data_ptr<float>(), n);
    return s;
}
""",
    detects=("text", "evidence"),
    guards="Buffers that the host fills, copies into or zeroes, that an earlier kernel stores "
    "to, or "
    "that the kernel itself stores to first, are fine.",
    mend="Makes the buffer with zeros.",
    check=check,
)
