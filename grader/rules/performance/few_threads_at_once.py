"""PRF005: few threads run at once: many tiny blocks, one block, one thread a block, or blocks with too many resources."""

from collections.abc import Iterator
from math import prod

from grader.records import KernelResources, Launch
from grader.rules import Context, Finding, Source, rule_of
from grader.source.analysis.cases import Case, cases
from grader.source.analysis.host_code import grid_node, origin, resolve
from grader.source.cpp import Items, Number
from grader.source.statements import enclosing_loops

MANY = 100_000
"""Blocks beyond which their start-up counts."""
ALONE = (
    "each block has one thread, so 31 of its warp's 32 lanes do nothing: give a row to a warp or a block, and let its "
    "threads share the loop"
)
SHARED, REGISTERS, WARPS = 233_472, 65_536, 64
"""Resources of an H100 multiprocessor: bytes of shared memory, registers, resident warps."""


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Check the number of blocks, their size, the work of a thread, and the occupancy."""
    yield from _blocks(source, context)
    yield from _resident(source, context)


def _blocks(source: Source, context: Context) -> Iterator[Finding]:
    """Check the number of blocks, their size, and the work of a thread."""
    seen: set[str] = set()
    for case in cases(source, context, "full", "main"):
        if case.kernel in seen:
            continue
        message = _tiny(case) or _single(case)
        place = case.place(grid_node(case))
        if not message and _is_lonely(case):
            message = ALONE
            place = case.place(resolve(case.launch.host, case.launch.call.config[1]).node)
        if message:
            seen.add(case.kernel)
            yield RULE.finding(place, message, kernels=(case.kernel,))


def _tiny(case: Case) -> str:
    """Report a block with barriers that works on a handful of elements."""
    blocks, barriers = prod(size or 1 for size in case.launch.grid), case.function.text.count("__syncthreads")  # fmt: skip
    few = case.sizes.real and case.threads <= 64 and blocks >= MANY
    if not few or barriers < 2:
        return ""
    return (
        f"the launch makes {blocks} blocks of at most {case.threads} threads, each with {barriers} barriers for about one element a thread: "
        "starting and waiting cost more than the work"
    )


def _single(case: Case) -> str:
    """Report one block that processes everything, of any size, by the kernel's own loops."""
    if case.launch.grid != (1, 1, 1) or not _is_one(case, 0):
        return ""
    loads = [case.tensor(one.parameter) for one in case.accesses if one.kind == "load"]
    roots = ((one, origin(one)) for one in loads)
    sizes = [t.numel or 0 for t, root in roots if t and root is not None and root.origin == "input"]
    few = case.sizes.real and max(sizes, default=0) < MANY
    if few or not sizes or not _walks(case):
        return ""
    return (
        f"one block of {case.threads} threads walks over the whole input, however large it is: one multiprocessor works and the "
        "others wait"
    )


def _is_lonely(case: Case) -> bool:
    """Whether each of many blocks has one thread, which loops over work that several could share."""
    return case.threads == 1 and _walks(case) and _is_one(case, 1) and not _is_one(case, 0)


def _walks(case: Case) -> bool:
    return any(next(enclosing_loops(one.node), None) for one in case.accesses)


def _is_one(case: Case, which: int) -> bool:
    """Whether the text launches one block (0), or one thread (1)."""
    size = resolve(case.launch.host, case.launch.call.config[which])
    every = size.items if isinstance(size, Items) else (size,)
    return all(isinstance(one, Number) and one.value == 1 for one in every)


def _resident(source: Source, context: Context) -> Iterator[Finding]:
    """Count the warps that fit on a multiprocessor, from the block's resources in the build and the runs."""
    for unit in source.cuda:
        for kernel in unit.kernels:
            used = next((one for one in context.resources if kernel.name in one.kernel), None)
            ran = [one for one in context.launches if kernel.name in one.kernel]
            if used is not None and ran:
                place = unit.place(kernel.node)
                for said in _limits(kernel.name, used, max(ran, key=lambda one: one.shared_bytes)):
                    yield RULE.finding(place, said, severity="note", kernels=(kernel.name,))


def _limits(kernel: str, used: KernelResources, ran: Launch) -> Iterator[str]:
    """Yield the resources that limit occupancy, and spills."""
    warps, taken = -(-prod(ran.block) // 32), ran.shared_bytes + used.shared_bytes
    resident = min(WARPS, warps * (SHARED // max(taken, 1)))
    of = f"{{}} of {WARPS} warps fit on a multiprocessor"
    if 0 <= resident < WARPS // 4:
        yield f"a block of {warps} warps takes {taken} bytes of shared memory: at most {of.format(resident)}"
    resident = min(WARPS, REGISTERS // (max(used.registers, 1) * 32 * warps) * warps)
    if 0 < resident < WARPS // 4:
        yield f"`{kernel}` takes {used.registers} registers a thread: {of.format(resident)}"
    if used.spill_store_bytes or used.spill_load_bytes:
        yield (
            f"`{kernel}` spills registers: {used.spill_store_bytes} bytes stored and {used.spill_load_bytes} bytes loaded through "
            "local memory"
        )


RULE = rule_of(__file__, check)
