"""BLD009: a kernel's fixed shared arrays are larger than a block may have."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from grader.records import Context, Evidence, Finding, Fix
from grader.rules.rule import Rule
from grader.source import Kernel, SharedArray, Source, Unit
from grader.source.analysis.diagnostics import errors
from grader.source.constants import fold, size_of
from grader.source.cuda_code import around
from grader.source.instantiations import (
    Instantiation,
    calls_device_functions,
    instantiations,
)
from grader.source.rewriting.shared_arrays import make_dynamic, unstage
from grader.source.rewriting.shared_sizes import cap, shrink

LIMIT = 49_152
"""Bytes of static shared memory that ptxas allows a block, on every GPU."""


@dataclass(frozen=True)
class Sized:
    """A shared array with its size for one instantiation."""

    array: SharedArray
    count: int
    element: int
    kind: str

    @property
    def bytes(self) -> int:
        """Its size."""
        return self.count * self.element


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Add up the fixed arrays of each kernel, for each type it is instantiated with."""
    for unit in source.cuda:
        for kernel in unit.kernels:
            yield from _kernel(source, unit, kernel, context)


def _kernel(source: Source, unit: Unit, kernel: Kernel, context: Context) -> Iterator[Finding]:
    arrays = _arrays(unit, kernel)
    evidence = _refusals(context, kernel.name)
    if not arrays:
        return
    found: list[tuple[Sized, ...]] = [
        sized
        for instance in instantiations(source.cuda, kernel)
        if (sized := _sized(unit, arrays, instance)) is not None
    ]
    worst = max(found, key=_total, default=())
    if _total(worst) <= LIMIT and not evidence:
        return
    if not worst:
        yield RULE.finding(unit.place(arrays[0].node), evidence[0].text, evidence=evidence)
        return
    yield _finding(unit, kernel, found, worst, evidence)


def _finding(
    unit: Unit,
    kernel: Kernel,
    found: list[tuple[Sized, ...]],
    worst: tuple[Sized, ...],
    evidence: tuple[Evidence, ...],
) -> Finding:
    largest = max(worst, key=lambda one: one.bytes)
    totals = sorted({_total(sized) for sized in found}, reverse=True)
    amounts = " and ".join(f"{total} bytes" for total in totals[:3])
    kinds = {one.kind for sized in found for one in sized if one.array is largest.array}
    each = f" ({', '.join(sorted(kinds))})" if len(kinds) > 1 else ""
    overlap = _in_separate_blocks(worst) and largest.bytes <= LIMIT
    return RULE.finding(
        unit.place(largest.array.node),
        f"{largest.array.name} gives {kernel.name} {amounts} of fixed shared memory{each}; a block may have {LIMIT}"
        + (
            ", and only sharing space between separate scopes could save it"
            if overlap
            else ", so ptxas refuses the kernel"
        ),
        severity="warning" if overlap and not evidence else "error",
        evidence=evidence,
        fixes=_fixes(unit, kernel, largest, worst),
        kernels=(kernel.name,),
    )


def _fixes(unit: Unit, kernel: Kernel, largest: Sized, worst: tuple[Sized, ...]) -> tuple[Fix, ...]:
    launches = [one for one in unit.launches if one.kernel == kernel.name]
    return (
        *shrink(unit, kernel, largest.array, launches),
        *unstage(unit, kernel, largest.array),
        *(
            make_dynamic(unit, kernel, largest.array, largest.count, largest.element, launches)
            if _total(worst) - largest.bytes <= LIMIT
            else ()
        ),
        *cap(unit, largest.array, largest.count),
    )


def _arrays(unit: Unit, kernel: Kernel) -> list[SharedArray]:
    """Return the fixed arrays of a kernel and of the plain device functions that it calls."""
    called = set(calls_device_functions(unit, kernel)) if unit.device_functions else set()
    owners = [
        kernel,
        *(f for f in unit.device_functions if f.name in called and not f.template_parameters),
    ]
    return [array for owner in owners for array in owner.shared if not array.dynamic]


def _sized(
    unit: Unit, arrays: list[SharedArray], instance: Instantiation
) -> tuple[Sized, ...] | None:
    sized: list[Sized] = []
    for array in arrays:
        element = size_of(array.element_type, instance.types)
        extents = [fold(unit, dim, instance.values, instance.types) for dim in array.dims]
        if element is None or None in extents:
            continue
        count = 1
        for extent in extents:
            count *= extent or 0
        kind = instance.types.get(array.element_type, array.element_type)
        sized.append(Sized(array, count, element, kind))
    return tuple(sized) or None


def _total(sized: tuple[Sized, ...]) -> int:
    return sum(one.bytes for one in sized)


def _in_separate_blocks(sized: tuple[Sized, ...]) -> bool:
    """Whether two arrays live in scopes that do not contain each other."""
    scopes = [
        next(
            (outer for outer in around(one.array.node) if outer.type == "compound_statement"), None
        )
        for one in sized
    ]
    return any(
        first is not None
        and second is not None
        and (first.end_byte <= second.start_byte or second.end_byte <= first.start_byte)
        for first in scopes
        for second in scopes
    )


def _refusals(context: Context, kernel: str) -> tuple[Evidence, ...]:
    """Return what ptxas said of this kernel; symbols carry the name with its length before it."""
    return tuple(
        item
        for item, meaning in errors(context)
        if meaning is not None
        and meaning.kind == "shared-memory"
        and (
            f"{len(kernel)}{kernel}" in item.said
            or f"'{kernel}'" in item.said
            or item.kernel == kernel
        )
    )


RULE = Rule(
    code="BLD009",
    name="static-shared-over-48k",
    severity="error",
    summary="One block asks for more fixed shared memory than the compiler allows (48 KB), so ptxas refuses the kernel.",
    why="The limit of fixed arrays is 49152 bytes on every GPU. More is only to be had as dynamic "
    "shared memory, with an opt-in call before the launch, up to 99 to 227 KB by card.",
    bad="""
#define TILE 16384
__global__ void k(const double* __restrict__ x, double* y) {
    __shared__ double tile[TILE];
    tile[threadIdx.x] = x[threadIdx.x];
    y[threadIdx.x] = tile[threadIdx.x];
}
torch::Tensor f(torch::Tensor x) {
    auto y = torch::empty_like(x);
    k<<<1, 256>>>(x.data_ptr<double>(), y.data_ptr<double>());
    return y;
}
""",
    good="""
template <typename T, int N> __global__ void k(const T* x, T* y, int n) {
    __shared__ T row[N];
    __shared__ float part[64][64 + 1];
    row[threadIdx.x] = x[threadIdx.x];
    y[threadIdx.x] = row[threadIdx.x] + part[0][0];
}
torch::Tensor f(torch::Tensor x) {
    k<float, 4096><<<1, 256>>>(x.data_ptr<float>(), x.data_ptr<float>(), 5);
    return x;
}
""",
    detects=("text", "build"),
    languages=("cuda",),
    guards="Macros, constants and template arguments are resolved; where a size stays unknown, the "
    "array does not count. Arrays in separate scopes may share their space: a warning.",
    fix="Gives the array one element a thread where each thread only uses its own; reads global memory where the array only holds a copy "
    "of it; makes it dynamic shared memory with the opt-in; holds it to one element for each thread that a block can have.",
    check=check,
)
