"""IDX003: a block with more threads than a GPU allows, or than its registers do."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence

from grader.records import Context, Evidence, Finding, Fix
from grader.records.observed import kernel_of, refused
from grader.rules.proofs import launch_cause
from grader.rules.rule import Rule
from grader.source import Source
from grader.source.analysis.host_code import refuses, resolve
from grader.source.analysis.walks import Case, cases, full_size_of, spans
from grader.source.code_edits import fix
from grader.source.cuda_code import text
from grader.source.flow.tree import Items, Node

MOST, REGISTERS = 1024, 65_536


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Look at the block's size at each launch."""
    proof = refused(context, "block")
    odd = {c.kernel: c.launch.threads for c in cases(source, context, "odd")}
    seen: set[str] = set()
    sizes = [(case, name) for name in ("main", "full") for case in cases(source, context, name)]
    for case, name in sizes:
        threads = case.launch.threads
        if threads is None or case.kernel in seen:
            continue
        if threads > MOST:
            follows = not case.sizes.complete and odd.get(case.kernel) != threads
            if follows and refuses(source, case):
                continue
            seen.add(case.kernel)
            yield RULE.finding(
                case.place(_where(case)),
                _message(threads, follows),
                severity="warning" if follows and not proof else None,
                predicts="elsewhere" if follows and not proof else None,
                fixes=(*_clamp(case), *_smaller(case)),
                evidence=proof,
                workload=full_size_of(context, name),
                kernels=(case.kernel,),
                cause=launch_cause(case.kernel, proof),
            )
        else:
            over = refused(context, "registers")
            mine = [e for e in over if kernel_of(e, spans(source)) == case.kernel]
            yield from _registers(case, context, threads, mine)
            seen.add(case.kernel)


def _message(threads: int, follows: bool) -> str:
    if follows:
        return f"the block's size follows the input: beyond {MOST} threads a block the launch fails, and nothing is computed"
    return f"a block has {threads} threads here, and may have at most {MOST}: the launch fails"


def _registers(
    case: Case, context: Context, threads: int, failed: Sequence[Evidence]
) -> Iterator[Finding]:
    most = max(
        (used.registers for used in context.resources if case.kernel in used.kernel), default=0
    )
    if most * threads > REGISTERS:
        yield RULE.finding(
            case.place(_where(case)),
            f"`{case.kernel}` needs {most} registers a thread: {threads} threads a block would take "
            f"{most * threads}, and there are {REGISTERS}; the launch fails",
            evidence=failed,
            fixes=_bounds(case, threads),
            kernels=(case.kernel,),
            cause=launch_cause(case.kernel, failed),
        )


def _bounds(case: Case, threads: int) -> tuple[Fix, ...]:
    """Tell the compiler how many threads a block has, so that it gives each fewer registers."""
    edits = []
    for kernel in case.unit.kernels:
        at = case.unit.data.find(b"__global__", kernel.node.start_byte, kernel.node.end_byte)
        if kernel.name == case.kernel and kernel.body is not None and at >= 0:
            if kernel.launch_bounds is not None:
                return ()
            after = at + len(b"__global__")
            edits.append(case.unit.edit(after, after, f" __launch_bounds__({threads})"))
    return fix(f"say __launch_bounds__({threads})", edits)


def _where(case: Case) -> Node:
    config = case.launch.call.config
    if len(config) < 2:
        return case.launch.call.node
    expr = resolve(case.launch.host, config[1])
    if isinstance(expr, Items) and expr.node is not None and expr.node.parent is not None:
        return expr.node.parent
    return expr.node


def _clamp(case: Case) -> Iterator[Fix]:
    config = case.launch.call.config
    y, z = case.launch.block[1:]
    if len(config) > 1 and y == 1 and z == 1:
        expr = resolve(case.launch.host, config[1])
        if not isinstance(expr, Items):
            node = expr.node
            if re.fullmatch(r"[A-Za-z_]\w*", text(node)):
                yield from _renumbered(case, text(node), "1024")
            plain = text(node).isdigit()
            new = str(MOST) if plain else f"std::min<int>({text(node)}, {MOST})"
            told = _told_as_template(case, text(node)) if plain else []
            yield from fix(
                "take at most 1024 threads",
                [case.unit.edit(one.start_byte, one.end_byte, new) for one in (node, *told)],
            )


def _told_as_template(case: Case, words: str) -> list[Node]:
    """Return the template arguments of the launch that say the block's size as well."""
    place = case.launch.call.node
    return [
        argument
        for launch in case.unit.launches
        if launch.kernel == case.kernel
        and launch.node.start_byte <= place.end_byte
        and place.start_byte <= launch.node.end_byte
        for argument in launch.template_arguments
        if text(argument) == words
    ]


def _smaller(case: Case) -> Iterator[Fix]:
    """Take fewer threads along the axes of a block that the text gives as numbers, or names of numbers."""
    config = case.launch.call.config
    expr = resolve(case.launch.host, config[1]) if len(config) > 1 else None
    sizes = [size for size in case.launch.block if size]
    if not isinstance(expr, Items) or len(sizes) < len(case.launch.block):
        return
    words = [text(item.node) for item in expr.items]
    names = {word for word in words if re.fullmatch(r"[A-Za-z_]\w*", word)}
    if len(names) == 1 and set(words) == names:
        yield from _renumbered(case, names.pop())
    elif all(word.isdigit() for word in words):
        while math.prod(sizes) > MOST:
            largest = sizes.index(max(sizes))
            sizes[largest] //= 2
        yield from fix(
            f"take {' x '.join(str(size) for size in sizes[: len(words)])} threads",
            [
                case.unit.edit(item.node.start_byte, item.node.end_byte, str(size))
                for item, size in zip(expr.items, sizes, strict=False)
            ],
        )


def _renumbered(case: Case, name: str, size: str = "16") -> Iterator[Fix]:
    """Give a constant of the text, which a block is made of, another value: 16 for a square one."""
    data = case.unit.data
    for pattern in (rb"#\s*define\s+%b\s+(\d+)\b", rb"\bconst(?:expr)?\s+int\s+%b\s*=\s*(\d+)\s*;"):
        found = re.search(pattern % name.encode(), data)
        if found:
            edit = case.unit.edit(found.start(1), found.end(1), size)
            yield from fix(f"make {name} {size}", [edit])


_BAD = """
__global__ void mark(float* y, int n) {
    int i = threadIdx.y * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 1.0f;
}
torch::Tensor run(torch::Tensor x) {
    auto y = torch::empty_like(x);
    dim3 block(64, 32);
    mark<<<1, block>>>(y.data_ptr<float>(), y.numel());
    return y;
}
"""
RULE = Rule(
    code="IDX003",
    name="block-too-large-or-too-many-registers",
    severity="error",
    summary="The block has more threads than the GPU allows (1024), or needs more registers than a "
    "block of that size can get; the kernel does not start.",
    why="No GPU runs more than 1024 threads a block, and its 65536 registers are shared by all of them. The launch fails without a word "
    "unless somebody asks for the error. Clamp the size and let each thread loop.",
    bad=_BAD,
    good=_BAD.replace("64, 32", "32, 8"),
    detects=("text", "build", "evidence"),
    guards="A size that follows the input is a warning unless the task's own size passes the limit, and nothing where the host compares "
    "it.",
    fix="Takes fewer threads where a block is made of numbers or a named constant; clamps the size of a one-dimensional one. "
    "Says `__launch_bounds__` where the registers are too many.",
    check=check,
    predicts="launch-fails",
)
