"""PRF005: few threads run at once: very many small blocks, a single one, blocks of one thread, or blocks that take too much each."""

from collections.abc import Iterator, Sequence
from math import prod

from grader.records import Context, Finding
from grader.rules.page_file import rule_of
from grader.source import Source
from grader.source.analysis.host_code import grid_node, origin, resolve
from grader.source.analysis.walks import Case, cases
from grader.source.cpp import Items, Number
from grader.source.flow import Region
from grader.source.scalar_types import SIZES

MANY = 100_000
"""Blocks beyond which their start-up counts."""
ALONE = (
    "each block has one thread, so 31 of its warp's 32 lanes do nothing: give a row to a warp or a block, and let its "
    "threads share the loop"
)
SHARED, REGISTERS, WARPS = 233_472, 65_536, 64
"""What a multiprocessor of an H100 has: bytes of shared memory, registers, resident warps."""


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Look at the number of blocks, their size, what a thread of them does, and how many fit on a multiprocessor."""
    yield from _blocks(source, context)
    yield from _resident(source, context)


def _blocks(source: Source, context: Context) -> Iterator[Finding]:
    """Look at the number of blocks, their size, and what a thread of them does."""
    seen: set[str] = set()
    for case in cases(source, context, "full", "main"):
        if case.kernel in seen or case.walk.stopped:
            continue
        message = _tiny(case) or _single(source, context, case)
        place = case.place(grid_node(case))
        if not message and _is_lonely(case):
            message = ALONE
            place = case.place(resolve(case.launch.host, case.launch.call.config[1]).node)
        if message:
            seen.add(case.kernel)
            yield RULE.finding(place, message, kernels=(case.kernel,))


def _tiny(case: Case) -> str:
    """Say that a block of barriers works on a handful of elements."""
    loads = [a for a in case.walk.accesses if a.kind == "load" and case.stride(a) != 0]
    turns = max((a.loops[-1][1] for a in loads if a.loops), default=0)
    blocks = prod(size or 1 for size in case.launch.grid)
    if case.sizes.real:
        few = case.walk.threads <= 64 and turns <= 1 and blocks >= MANY
    else:
        few = all(size is None or size > 1 for size in case.launch.grid)
    barriers = case.walk.barriers if loads and few else 0
    if barriers < 2:
        return ""
    count = f"{blocks} blocks" if case.sizes.real else "one block for each position of three axes"
    return (
        f"the launch makes {count} of at most {case.walk.threads} threads, each with {barriers} barriers for about one element a thread: "
        "starting and waiting cost more than the work"
    )


def _single(source: Source, context: Context, case: Case) -> str:
    """Say that one block walks over everything, however much that is, by the text and not by the host's loops."""
    if case.launch.grid != (1, 1, 1) or not _is_one(case, 0):
        return ""
    every = cases(source, context, "long")
    long = next((c for c in every if c.kernel == case.kernel), None)
    regions = (r for r in long.walk.regions if r.loads and r.tensor is not None) if long else ()
    roots = ((r.tensor, origin(r.tensor)) for r in regions)
    sizes = [t.numel or 0 for t, root in roots if t and root is not None and root.origin == "input"]
    walks = long is not None and any(access.loops for access in long.walk.accesses)
    if max(sizes, default=0) < MANY or not walks:
        return ""
    return (
        f"one block of {case.walk.threads} threads walks over the whole input, however large it is: one multiprocessor works and the "
        "others wait"
    )


def _is_lonely(case: Case) -> bool:
    """Whether the text gives each of many blocks one thread, which walks over what others could share."""
    walks = any(access.loops for access in case.walk.accesses)
    return case.walk.threads == 1 and walks and _is_one(case, 1) and not _is_one(case, 0)


def _is_one(case: Case, which: int) -> bool:
    """Whether the text says one block (0), or one thread (1)."""
    size = resolve(case.launch.host, case.launch.call.config[which])
    every = size.items if isinstance(size, Items) else (size,)
    return all(isinstance(one, Number) and one.value == 1 for one in every)


def _shared_bytes(case: Case, arrays: Sequence[Region], context: Context) -> int:
    """Return what a block takes: of dynamic arrays what runs reserved, where there were any, else what the text says."""
    reserved = [one.shared_bytes for one in context.launches if one.kernel == case.kernel]
    counted = [one for one in arrays if not (reserved and one.dynamic)]
    own = sum((one.cells or 0) * SIZES.get(one.type, 4) for one in counted)
    return own + max(reserved, default=0)


def _resident(source: Source, context: Context) -> Iterator[Finding]:
    """Count the warps that fit on a multiprocessor."""
    seen: set[str] = set()
    for case in cases(source, context):
        if case.kernel in seen or not case.walk.threads:
            continue
        seen.add(case.kernel)
        arrays = [r for r in case.walk.regions if r.space == "shared"]
        taken = _shared_bytes(case, arrays, context)
        warps = (case.walk.threads + 31) // 32
        resident = min(WARPS, warps * (SHARED // max(taken, 1)))
        if taken and 0 <= resident < WARPS // 4:
            largest = max(arrays, key=lambda r: r.cells or 0)
            yield RULE.finding(
                case.place(largest.node),
                f"a block of {warps} warps takes {taken} bytes of shared memory: at most {resident} of {WARPS} warps fit on a "
                f"multiprocessor ({100 * resident / WARPS:.0f}%)",
                severity="note",
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
                    severity="note",
                    kernels=(case.kernel,),
                )
            if used.spill_store_bytes or used.spill_load_bytes:
                yield RULE.finding(
                    case.place(case.walk.kernel.node),
                    f"`{case.kernel}` spills registers: {used.spill_store_bytes} bytes stored and {used.spill_load_bytes} bytes loaded "
                    "through local memory",
                    severity="note",
                    kernels=(case.kernel,),
                )
            return


RULE = rule_of(__file__, check)
