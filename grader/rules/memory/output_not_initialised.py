"""MEM008: a result buffer is not initialised."""

import ast
from collections.abc import Iterator, Sequence

from grader.records import UnwrittenOutput
from grader.records.observed import observed_evidence, values_of
from grader.rules import Context, Evidence, Finding, Fix, Place, Source, fix, rule_of
from grader.source.analysis import triton
from grader.source.analysis.cases import Case, cases
from grader.source.analysis.host_code import made_by
from grader.source.analysis.kernel_accesses import Access, written_through
from grader.source.analysis.triton import Kernel, Launch, launches
from grader.source.analysis.triton_axes import whole_blocks
from grader.source.code_edits import replace
from grader.source.cpp import Call, walk
from grader.source.flow import Tensor

FILLS = ("cudaMemset", "cudaMemsetAsync", "cudaMemcpy", "cudaMemcpyAsync")
Proof = Sequence[Evidence]


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Look for buffers from torch::empty that a kernel adds to before any store."""
    proof = (
        *observed_evidence(context, "uninit-global", "unwritten"),
        *_unwritten_comparisons(context),
    )
    small = [item for item in context.evidence_of("probe") if item.code == "larger-launch"]
    for item in small:
        yield RULE.finding(
            item.place, item.text, evidence=[item, *proof], cause="unwritten", root_cause=True
        )
    found = [*_read_first(source, context, proof), *_added_to(source)]
    for finding in found:
        certain = {"confidence": "proven"} if proof else {}
        yield finding.model_copy(update={**certain, "evidence": proof})
    if proof and not found and not small and not observed_evidence(context, "launch"):
        yield _left_unwritten(source, context, proof)


def _read_first(source: Source, context: Context, proof: Proof) -> Iterator[Finding]:
    """Yield the buffers that a launch adds to, or reads in a run, before it or an earlier one stores to them."""
    written: set[int] = set()
    named: set[int] = set()
    for case in cases(source, context):
        filled = any(isinstance(p, Call) and p.name in FILLS for p in walk(case.launch.host.code))
        first = {one.parameter: one for one in reversed(case.accesses)}
        for parameter, access in first.items():
            tensor = case.tensor(parameter)
            if tensor is None or tensor.origin != "empty" or tensor.touched or filled:
                continue
            adds = access.kind == "atomic" or _is_added_to(case, access)
            new = id(tensor) not in written and tensor.node.id not in named
            if new and access.kind != "store" and (proof or adds):
                named.add(tensor.node.id)
                yield _finding(case, tensor, access)
        given = {one.name: case.tensor(one.name) for one in case.function.parameters}
        stored = (t for name, t in given.items() if written_through(case.unit, case.function, name))
        written |= {id(tensor) for tensor in stored}


def _is_added_to(case: Case, load: Access) -> bool:
    """Whether what is loaded is stored to the same place: `y[i] += x[i]`."""
    return any(one.kind == "store" and one.node == load.node for one in case.accesses)


def _finding(case: Case, tensor: Tensor, access: Access) -> Finding:
    name, line = access.parameter, case.line(access.node)
    how = "adds to it with an atomic" if access.kind == "atomic" else "reads it"
    return RULE.finding(
        case.place(tensor.node),
        f"the buffer made here starts with whatever was in memory, and line {line} {how} (as `{name}`) before anything was stored there",
        fixes=made_by(case, tensor, "empty", "zeros", "start with zeros"),
        kernels=(case.kernel,),
    )


def _added_to(source: Source) -> Iterator[Finding]:
    """Yield the uninitialised tensors passed to a Triton kernel that only adds to them."""
    for launch in triton.launches(source):
        kernel = launch.kernel
        kinds: dict[str, set[str]] = {}
        for access in kernel.accesses:
            kinds.setdefault(kernel.parameter_of(access), set()).add(access.kind)
        adds = {name for name, some in kinds.items() if "atomic" in some and "store" not in some}
        given = {source.text(v) for name, v in launch.arguments.items() if name in adds}
        for name, made in allocated_tensors(launch.host, source):
            if name in given:
                yield RULE.finding(
                    source.place(made),
                    f"the buffer made here starts with whatever was in memory, and `{kernel.name}` adds to it with "
                    "an atomic before anything was stored there",
                    fixes=_zero_output(source, made),
                    kernels=(kernel.name,),
                )


def _zero_output(source: Source, made: ast.Call) -> tuple[Fix, ...]:
    text = source.text(made.func)
    return fix("start with zeros", [replace(source, made.func, text.replace("empty", "zeros"))])


def _left_unwritten(source: Source, context: Context, proof: Proof) -> Finding:
    """Return evidence of an unwritten result where the text has no accumulating buffer."""
    place = next((item.place for item in proof if item.place is not None), None)
    in_part = any(
        isinstance(item.details, UnwrittenOutput) and item.details.missing != item.details.size
        for item in proof
    )
    if place is None and in_part:
        place = _last_store(source, context)
    short = _short_block(source) if place is None and in_part else None
    place = short or place or _allocation(source, context) or _in_triton(source, in_part=in_part)
    said = proof[0].text.rstrip(".") + (": a block covers a part of its row alone" if short else "")
    return RULE.finding(place, said, evidence=proof, cause="unwritten")


def _short_block(source: Source) -> Place | None:
    """Return the place of a block length that no loop advances by and that may not cover its row."""
    blocks = (block for one in triton.launches(source) for block in whole_blocks(one))
    short = (one for one in blocks if not source.text(one).startswith("triton.next_power_of_2"))
    return next((source.place(one) for one in short), None)


def _in_triton(source: Source, *, in_part: bool) -> Place | None:
    """Return the place where a Triton program leaves a result unwritten: a store, or the allocation."""
    store, made = triton.last_store(source), allocation(source)
    if store is not None and (in_part or made is None):
        return source.place(store.call)
    return source.place(made[0]) if made else None


def _result_stores(case: Case) -> Iterator[Access]:
    """Yield the stores to the host function's result, the last one first."""
    returned = {id(t) for run in case.flow.host(case.sizes) for t in run.returned}
    for access in reversed(case.accesses):
        if access.kind == "store" and id(case.tensor(access.parameter)) in returned:
            yield access


def _last_store(source: Source, context: Context) -> Place | None:
    stores = ((case, store) for case in cases(source, context) for store in _result_stores(case))
    return next((case.place(store.node) for case, store in stores), None)


def _allocation(source: Source, context: Context) -> Place | None:
    """Return the allocation of the result, if it leaves memory uninitialised."""
    for case in cases(source, context):
        for run in case.flow.host(case.sizes):
            for tensor in run.returned:
                if tensor.origin == "empty" and tensor.node is not None:
                    return case.place(tensor.node)
    return None


def _unwritten_comparisons(context: Context) -> tuple[Evidence, ...]:
    """Return the comparisons whose wrong values are those of fresh memory.

    The simulator fills shared memory with ones, and fresh global memory with other bits (`fresh_poison` in
    simulator/native/sim.hpp).
    """
    seen = (item for item in context.evidence_of("mismatch", "probe") if item.code == "unwritten")
    sim = context.device == "sim"
    return tuple(item for item in seen if not (sim and set(values_of(item).bits[2:]) == {"f"}))


RULE = rule_of(__file__, check, predicts="unwritten-read", effect=True)


ALLOCATIONS = frozenset({"torch.empty", "torch.empty_like", "torch.empty_strided"})


def allocation(source: Source) -> tuple[ast.expr, Launch | None] | None:
    """Return the allocation of the last uninitialised tensor, and the launch that gets it."""
    for launch in reversed(launches(source)):
        names = {
            value.id
            for name, value in launch.arguments.items()
            if isinstance(value, ast.Name) and name in _written_pointers(launch.kernel)
        }
        for made_as, value in allocated_tensors(launch.host, source):
            if made_as in names:
                return value, launch
    hosts = (None, *source.walk(ast.FunctionDef))
    made = [value for host in hosts if host for _, value in allocated_tensors(host, source)]
    return (made[-1], None) if made else None


def _written_pointers(kernel: Kernel) -> set[str]:
    return {kernel.parameter_of(one) for one in kernel.accesses if one.kind != "load"}


def allocated_tensors(
    host: ast.FunctionDef | None, source: Source
) -> Iterator[tuple[str, ast.Call]]:
    """Yield the names of uninitialised tensors that a function makes, with their calls."""
    for node in ast.walk(host) if host else ():
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            name = source.module.canonical(node.value.func)
            target = node.targets[0]
            made = name in ALLOCATIONS or name.rpartition(".")[2] == "new_empty"
            if made and isinstance(target, ast.Name):
                yield target.id, node.value
