"""BLD009: a kernel's fixed shared arrays are larger than a block may have."""

from collections.abc import Iterator

from grader.rules import Context, Evidence, Finding, Fix, Source, Unit, rule_of
from grader.source import Kernel
from grader.source.analysis.diagnostics import errors
from grader.source.cpp import Declare
from grader.source.instantiations import (
    Instantiation,
    array_size,
    calls_device_functions,
    instantiations,
)
from grader.source.rewriting.shared_arrays import make_dynamic, unstage
from grader.source.rewriting.shared_sizes import cap

LIMIT = 49_152
"""Bytes of static shared memory that ptxas allows a block, on every GPU."""
Sized = tuple[int, int, Declare]
"""The elements of an array, the bytes of each, and the array."""


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Add up the fixed arrays of each kernel, for each type it is instantiated with."""
    for unit in source.cuda:
        for kernel in unit.kernels:
            arrays = _arrays(unit, kernel)
            evidence = _refusals(context, kernel.name)
            sizes = [
                _sized_arrays(unit, arrays, one) for one in instantiations(source.cuda, kernel)
            ]
            if arrays and (evidence or max(map(_bytes, sizes), default=0) > LIMIT):
                yield _finding(unit, kernel, arrays, sorted(sizes, key=_bytes), evidence)


def _arrays(unit: Unit, kernel: Kernel) -> list[Declare]:
    """Return the fixed arrays of a kernel and of the plain device functions that it calls."""
    called = calls_device_functions(unit, kernel) if unit.device_functions else ()
    plain = (f for f in unit.device_functions if f.name in called and not f.template_parameters)
    return [array for owner in (kernel, *plain) for array in owner.shared if not array.extern]


def _sized_arrays(unit: Unit, arrays: list[Declare], instance: Instantiation) -> list[Sized]:
    found = ((array_size(unit, array, instance), array) for array in arrays)
    return [(*size, array) for size, array in found if size is not None]


def _bytes(sized: list[Sized]) -> int:
    return sum(count * element for count, element, _ in sized)


def _finding(
    unit: Unit,
    kernel: Kernel,
    arrays: list[Declare],
    sizes: list[list[Sized]],
    evidence: tuple[Evidence, ...],
) -> Finding:
    worst = sizes[-1] if sizes else []
    largest = max(worst, key=lambda one: one[0] * one[1], default=None)
    array = largest[2] if largest else arrays[0]
    totals = " and ".join(f"{total} bytes" for total in sorted({*map(_bytes, sizes)})[-3:])
    sure = evidence or (largest and largest[0] * largest[1] > LIMIT)
    return RULE.finding(
        unit.place(array.node),
        f"{array.name} gives {kernel.name} {totals} of fixed shared memory; a block may have {LIMIT}"
        + (
            ", so ptxas refuses the kernel"
            if sure
            else ", and only arrays that share space save it"
        ),
        severity="error" if sure else "warning",
        evidence=evidence,
        fixes=_fixes(unit, kernel, worst, largest) if largest else (),
        kernels=(kernel.name,),
    )


def _fixes(unit: Unit, kernel: Kernel, worst: list[Sized], largest: Sized) -> Iterator[Fix]:
    count, element, array = largest
    launches = [one for one in unit.launches if one.kernel == kernel.name]
    yield from unstage(unit, kernel, array)
    if _bytes(worst) - count * element <= LIMIT:
        yield from make_dynamic(unit, kernel, array, count, element, launches)
    yield from cap(unit, array, count)


def _refusals(context: Context, kernel: str) -> tuple[Evidence, ...]:
    """Return ptxas's errors on this kernel; mangled symbols contain the name's length before the name."""
    names = (f"{len(kernel)}{kernel}", f"'{kernel}'")
    return tuple(
        item
        for item, meaning in errors(context)
        if meaning is not None and meaning.kind == "shared-memory"
        if item.kernel == kernel or any(name in item.said for name in names)
    )


RULE = rule_of(__file__, check)
