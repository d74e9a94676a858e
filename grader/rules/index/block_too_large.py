"""IDX003: a block with more threads than a GPU allows, or than its registers do."""

import math
import re
from collections.abc import Iterator, Sequence

from tree_sitter import Node

from grader.records import Context, Evidence, Finding, Fix
from grader.records.observed import kernel_of, refused
from grader.rules.proofs import launch_cause
from grader.rules.rule import Rule
from grader.source import Source
from grader.source.analysis.host_code import refuses, resolve
from grader.source.analysis.walks import Case, cases, full_size_of, spans
from grader.source.code_edits import fix
from grader.source.cuda_code import text
from grader.source.flow.tree import Items

MOST, REGISTERS = 1024, 65_536
NAME = re.compile(r"[A-Za-z_]\w*")


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Look at the block's size at each launch."""
    proof = refused(context, "block")
    odd = {c.kernel: c.launch.threads for c in cases(source, context, "odd")}
    over = refused(context, "registers")
    seen: set[str] = set()
    for name in ("main", "full"):
        for case in cases(source, context, name):
            threads = case.launch.threads or 0
            follows = not case.sizes.complete and odd.get(case.kernel) != threads
            if (
                not threads
                or case.kernel in seen
                or (threads > MOST and follows and refuses(source, case))
            ):
                continue
            seen.add(case.kernel)
            if threads > MOST:
                yield _too_many(case, proof, full_size_of(context, name), follows=follows)
            else:
                mine = [e for e in over if kernel_of(e, spans(source)) == case.kernel]
                yield from _registers(case, context, threads, mine)


def _too_many(case: Case, proof: Sequence[Evidence], at: str, *, follows: bool) -> Finding:
    elsewhere = follows and not proof
    return RULE.finding(
        case.place(_where(case)),
        f"the block's size follows the input: beyond {MOST} threads a block the launch fails, and nothing is computed"
        if follows
        else f"a block has {case.launch.threads} threads here, and may have at most {MOST}: the launch fails",
        severity="warning" if elsewhere else None,
        predicts="elsewhere" if elsewhere else None,
        fixes=_smaller(case),
        evidence=proof,
        workload=at,
        kernels=(case.kernel,),
        cause=launch_cause(case.kernel, proof),
    )


def _registers(
    case: Case, context: Context, threads: int, failed: Sequence[Evidence]
) -> Iterator[Finding]:
    own = (used.registers for used in context.resources if case.kernel in used.kernel)
    most = max(own, default=0)
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
        if kernel.name == case.kernel and at >= 0:
            if kernel.launch_bounds is not None:
                return ()
            after = at + len(b"__global__")
            edits.append(case.unit.edit(after, after, f" __launch_bounds__({threads})"))
    return fix(f"say __launch_bounds__({threads})", edits)


def _where(case: Case) -> Node:
    config = case.launch.call.config
    expr = resolve(case.launch.host, config[1]) if len(config) > 1 else case.launch.call
    node: Node = expr.node
    return node.parent if isinstance(expr, Items) and node.parent is not None else node


def _smaller(case: Case) -> Iterator[Fix]:
    """Yield the ways to take fewer threads: another number where the text has one, a limit where it has none."""
    config, block = case.launch.call.config, case.launch.block
    if len(config) < 2 or not all(block):
        return
    expr = resolve(case.launch.host, config[1])
    nodes = [item.node for item in expr.items] if isinstance(expr, Items) else [expr.node]
    words = {text(node) for node in nodes}
    if len(words) == 1 and NAME.fullmatch(min(words)):
        yield from _renumbered(case, min(words), "16" if len(nodes) > 1 else str(MOST))
    if all(word.isdigit() for word in words):
        sizes = [size or 1 for size in block]
        while math.prod(sizes) > MOST:
            largest = sizes.index(max(sizes))
            sizes[largest] = MOST if len(nodes) == 1 else sizes[largest] // 2
        told = _told_as_template(case, text(nodes[0])) if len(nodes) == 1 else []
        pairs = zip((*nodes, *told), (*sizes[: len(nodes)], *[MOST] * len(told)), strict=True)
        edits = [case.unit.edit(n.start_byte, n.end_byte, str(size)) for n, size in pairs]
        yield from fix(f"take {' x '.join(map(str, sizes[: len(nodes)]))} threads", edits)
    elif len(nodes) == 1 and block[1:] == (1, 1):
        start, end = nodes[0].start_byte, nodes[0].end_byte
        limited = f"std::min<int>({text(nodes[0])}, {MOST})"
        yield from fix(f"take at most {MOST} threads", [case.unit.edit(start, end, limited)])


def _told_as_template(case: Case, words: str) -> list[Node]:
    """Return the template arguments of the launch that say the block's size as well."""
    line = case.line(case.launch.call.node)
    return [
        argument
        for launch in case.unit.launches
        if launch.kernel == case.kernel and case.line(launch.node) == line
        for argument in launch.template_arguments
        if text(argument) == words
    ]


def _renumbered(case: Case, name: str, size: str) -> Iterator[Fix]:
    """Give a constant of the text, which a block is made of, another value."""
    for pattern in (rb"#\s*define\s+%b\s+(\d+)\b", rb"\bconst(?:expr)?\s+int\s+%b\s*=\s*(\d+)\s*;"):
        found = re.search(pattern % name.encode(), case.unit.data)
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
