"""PRF006: a block takes so much that few threads run at once."""

from collections.abc import Iterator

from grader.records import Context, Finding
from grader.rules.rule import Rule, hosted
from grader.source import Source
from grader.source.analysis.walks import Case, cases
from grader.source.flow.scalar_types import SIZES

SHARED, REGISTERS, WARPS = 233_472, 65_536, 64
"""What a multiprocessor of an H100 has: bytes of shared memory, registers, resident warps."""


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Count the warps that fit on a multiprocessor."""
    seen: set[str] = set()
    for case in cases(source, context):
        if case.kernel in seen or not case.walk.threads:
            continue
        seen.add(case.kernel)
        arrays = [r for r in case.walk.regions if r.space == "shared"]
        taken = sum((r.cells or 0) * SIZES.get(r.type, 4) for r in arrays)
        warps = (case.walk.threads + 31) // 32
        resident = min(WARPS, warps * (SHARED // max(taken, 1)))
        if taken and 0 <= resident < WARPS // 4:
            largest = max(arrays, key=lambda r: r.cells or 0)
            yield RULE.finding(
                case.place(largest.node),
                f"a block of {warps} warps takes {taken} bytes of shared memory: at most {resident} of {WARPS} warps fit on a "
                f"multiprocessor ({100 * resident / WARPS:.0f}%)",
                kernels=(case.kernel,),
            )
        yield from _registers(case, context, warps)


def _registers(case: Case, context: Context, warps: int) -> Iterator[Finding]:
    for used in context.resources:
        if case.kernel in used.kernel and used.registers:
            resident = min(WARPS, REGISTERS // (used.registers * 32 * warps) * warps)
            if 0 < resident < WARPS // 4:
                yield RULE.finding(
                    case.place(case.walk.kernel.node),
                    f"`{case.kernel}` takes {used.registers} registers a thread: {resident} of {WARPS} warps fit on a multiprocessor",
                    kernels=(case.kernel,),
                )
            if used.spill_store_bytes or used.spill_load_bytes:
                yield RULE.finding(
                    case.place(case.walk.kernel.node),
                    f"`{case.kernel}` spills registers: {used.spill_store_bytes} bytes stored and {used.spill_load_bytes} bytes loaded "
                    "through local memory",
                    kernels=(case.kernel,),
                )
            return


_BAD = hosted("""
__global__ void stage(const float* x, float* y) {
    extern __shared__ float row[];
    row[threadIdx.x] = x[threadIdx.x];
    y[threadIdx.x] = row[threadIdx.x];
}
stage<<<x.size(0), 256, 128 * 1024>>>($x, $y);
""")
RULE = Rule(
    code="PRF006",
    name="low-occupancy",
    severity="note",
    summary="Each block takes so much shared memory or so many registers that few threads run at once and memory delays are not hidden.",
    why="A multiprocessor has 64 warps to choose from while others wait for memory, if shared memory and registers allow them all. A "
    "block of 8 warps that takes half of the shared memory leaves 16.",
    bad=_BAD,
    good=_BAD.replace("128 * 1024", "256 * sizeof(float)"),
    detects=("text", "build"),
    languages=("cuda",),
    guards="Kernels with many independent loads a thread run well at low occupancy: a hint, no more.",
    check=check,
)
