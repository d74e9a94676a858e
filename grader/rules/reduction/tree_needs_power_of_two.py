"""RED004: a halving tree over a number of threads that is no power of two."""

from __future__ import annotations

from collections.abc import Iterator

from grader.records import Context, Edit, Finding, Fix
from grader.rules.rule import Rule
from grader.source import Source
from grader.source.analysis.reduction_steps import Halving, array_of, halving_loops
from grader.source.analysis.walks import Case, cases
from grader.source.code_edits import fix
from grader.source.cuda_code import descendants, text
from grader.source.flow.tree import (
    Assign,
    Binary,
    Call,
    Declare,
    Expr,
    Items,
    Member,
    Name,
    Node,
    Number,
    Subscript,
    walk,
)


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Compare the trees of a kernel with the block sizes that it is launched with."""
    done: set[tuple[str, int]] = set()
    for case in cases(source, context, "main", "odd"):
        threads = case.launch.threads
        if threads is None or threads & (threads - 1) == 0:
            continue
        for halving in halving_loops(case.flow.program):
            key = (case.kernel, halving.loop.node.start_byte)
            if key not in done and _drops(case, halving):
                done.add(key)
                yield _finding(case, halving, threads)


def _drops(case: Case, halving: Halving) -> bool:
    """Whether it is a tree over the block that takes cells at the counter's distance."""
    if halving.doubling or halving.start is None or not _mentions_block(case, halving.start):
        return False
    called = {p.name for p in walk(case.walk.kernel.body) if isinstance(p, Call)}
    if halving.function.name not in {case.kernel, *called}:
        return False
    shared = _shared_names(case, halving)
    for part in walk(halving.loop.body):
        if (
            isinstance(part, Subscript)
            and array_of(part) in shared
            and isinstance(part.index, Binary)
        ):
            return any(isinstance(p, Name) and p.id == halving.counter for p in walk(part.index))
    return False


def _shared_names(case: Case, halving: Halving) -> set[str]:
    """Return the shared arrays, and the pointers that are set to a place in one of them."""
    names = {r.name for r in case.walk.regions if r.space == "shared"}
    for part in walk(halving.function.body):
        if isinstance(part, Declare) and part.pointer and part.init is not None:
            if any(isinstance(p, Name) and p.id in names for p in walk(part.init)):
                names.add(part.name)
    return names


def _mentions_block(case: Case, start: Expr) -> bool:
    """Whether the tree starts at half of the block's size."""
    sizes = _sizes(case)
    for part in walk(start):
        if isinstance(part, Name) and part.id in sizes:
            return True
        if isinstance(part, Member) and isinstance(part.base, Name) and part.base.id == "blockDim":
            return True
        if isinstance(part, Name):
            for item in walk(case.walk.kernel.body):
                if isinstance(item, Declare) and item.name == part.id and item.init is not None:
                    if any(isinstance(p, Name) and p.id == "blockDim" for p in walk(item.init)):
                        return True
    return False


def _sizes(case: Case) -> set[str]:
    """Return the template parameters, macros and constants that equal the block's size."""
    threads = case.walk.threads
    given = zip(case.walk.kernel.template, case.launch.template, strict=False)
    names = {parameter.name for parameter, value in given if value.strip() == str(threads)}
    program = case.flow.program
    named = [(m.name, m.expr) for m in program.macros.values()]
    named += [(c.name, c.init) for c in program.constants]
    return names | {n for n, e in named if isinstance(e, Number) and e.value == threads}


def _finding(case: Case, halving: Halving, threads: int) -> Finding:
    steps, lost = [threads], -1
    while steps[-1] > 1:
        if steps[-1] % 2 and lost < 0:
            lost = steps[-1] - 1
        steps.append(steps[-1] // 2)
    config = case.launch.call.config
    size = _block_size(case, config[1]) if len(config) > 1 else None
    real = case.sizes.name.startswith("usual")
    return RULE.finding(
        case.place(halving.loop.node),
        f"the halving loop only works for a power of two: a block of {threads} threads goes {', '.join(str(s) for s in steps)}, and the "
        f"partial result at index {lost} is dropped (the block size on line {case.line(size or case.launch.call.node)} follows the data)",
        severity="error" if real else "warning",
        kernels=(case.kernel,),
        fixes=(*_round_block(case), *_any_size(case, halving)),
    )


def _round_block(case: Case) -> Iterator[Fix]:
    """Round the block size up to a power of two where the host code sets it."""
    config = case.launch.call.config
    node = _block_size(case, config[1]) if len(config) > 1 else None
    if node is None:
        return
    test = f"rounded < (int)({text(node)}) && rounded < 1024"
    new = f"([&] {{ int rounded = 32; while ({test}) rounded *= 2; return rounded; }}())"
    yield from fix(
        "round the block size up to a power of two",
        [case.unit.edit(node.start_byte, node.end_byte, new)],
    )


def _block_size(case: Case, expr: Expr) -> Node | None:
    """Return the expression that a block's size comes from, through the host's variables."""
    for _ in range(4):
        if isinstance(expr, Call) and expr.name == "dim3" and expr.args:
            expr = expr.args[0]
        elif isinstance(expr, Items) and expr.items:
            expr = expr.items[0]
        elif isinstance(expr, Name):
            init = next(
                (
                    p.init
                    for p in walk(case.launch.host.body)
                    if isinstance(p, Declare) and p.name == expr.id
                ),
                None,
            )
            if init is None:
                return None
            expr = init
        else:
            return expr.node
    return None


def _any_size(case: Case, halving: Halving) -> Iterator[Fix]:
    """Let the tree take care of odd counts: halve upwards, and look whether the partner exists."""
    node, k = halving.loop.node, halving.counter
    step, init = halving.loop.step, node.child_by_field_name("initializer")
    test = node.child_by_field_name("condition")
    if not isinstance(step, Assign) or init is None or test is None:
        return
    edits: list[Edit | None] = [
        case.unit.edit(
            init.start_byte,
            init.end_byte,
            f"int tree_size = blockDim.x, {k} = (blockDim.x + 1) / 2;",
        ),
        case.unit.edit(test.start_byte, test.end_byte, "tree_size > 1"),
        case.unit.edit(
            step.node.start_byte, step.node.end_byte, f"tree_size = {k}, {k} = ({k} + 1) / 2"
        ),
    ]
    for item in descendants(node, "binary_expression"):
        left, right = item.child_by_field_name("left"), item.child_by_field_name("right")
        if text(right) == k and text(item.child_by_field_name("operator")) == "<":
            edits.append(
                case.unit.edit(item.start_byte, item.end_byte, f"{text(left)} + {k} < tree_size")
            )
    if len(edits) == 4:
        yield from fix("halve upwards, so that the tree handles any number of threads", edits)


_BAD = """
__global__ void row_sum(const float* x, float* y, int cols) {
    extern __shared__ float s[];
    int t = threadIdx.x;
    s[t] = x[blockIdx.x * cols + t];
    __syncthreads();
    for (int k = blockDim.x / 2; k > 0; k >>= 1) {
        if (t < k) s[t] += s[t + k];
        __syncthreads();
    }
    if (t == 0) y[blockIdx.x] = s[0];
}
torch::Tensor run(torch::Tensor x) {
    int cols = x.size(1);
    auto y = torch::empty({x.size(0)}, x.options());
    int threads = std::min(cols, 256);
    row_sum<<<x.size(0), threads, threads * sizeof(float)>>>(
        x.data_ptr<float>(), y.data_ptr<float>(), cols);
    return y;
}
"""
RULE = Rule(
    code="RED004",
    name="tree-needs-power-of-two",
    severity="error",
    summary="The halving loop only works when the thread count is a power of two; with another, some values are dropped.",
    why="Each step folds the upper half of the partial results onto the lower one. When the number is odd, the last one has no partner "
    "and is forgotten: 100 threads go 50, 25, 12, 6, 3, 1 and lose two parts. Round the block size up and give idle threads a "
    "neutral value, or halve upwards and test whether the partner exists.",
    bad=_BAD,
    good=_BAD.replace(
        "x[blockIdx.x * cols + t]", "t < cols ? x[blockIdx.x * cols + t] : 0.0f"
    ).replace(
        "std::min(cols, 256)", "32;\n    while (threads < cols && threads < 256) threads *= 2"
    ),
    detects=("text",),
    languages=("cuda",),
    guards="Constant powers of two, block sizes that are rounded up, and trees that halve upwards are fine. A warning where only other "
    "sizes than the task's give such a block.",
    fix="Rounds the block size up where the host sets it, or lets the tree handle any size.",
    check=check,
)
