"""RED004: a halving tree over a number of threads that isn't a power of two."""

from collections.abc import Iterator

from tree_sitter import Node

from grader.rules import Context, Edit, Finding, Fix, Source, fix, rule_of
from grader.source import cpp
from grader.source.analysis.cases import Case, cases
from grader.source.analysis.host_code import resolve
from grader.source.analysis.reduction_steps import Halving, halving_loops
from grader.source.nodes import descendants, names_in, text


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Compare the trees of a kernel with the block sizes of its launches."""
    done: set[tuple[str, int]] = set()
    for case in cases(source, context, "main", "odd"):
        threads = case.launch.threads or 1
        for halving in halving_loops(case.unit) if threads & (threads - 1) else ():
            key = (case.kernel, halving.loop.node.start_byte)
            if key not in done and _drops(case, halving):
                done.add(key)
                yield _finding(case, halving, threads)


def _drops(case: Case, halving: Halving) -> bool:
    """Whether it is a tree over the block, with cells at the counter's distance; one that starts at a number has another size."""
    parts, start = list(cpp.walk(halving.loop.body)), halving.start
    called = {p.name for p in cpp.walk(case.function.code) if isinstance(p, cpp.Call)}
    if start is None or halving.doubling or halving.function.name not in {case.kernel, *called}:
        return False
    indices = [p.index for p in parts if isinstance(p, cpp.Subscript)]
    apart = any(isinstance(i, cpp.Binary) and halving.counter in names_in(i.node) for i in indices)
    return apart and (not isinstance(start, cpp.Number) or start.value == case.threads // 2)


def _finding(case: Case, halving: Halving, threads: int) -> Finding:
    steps = [threads]
    while steps[-1] > 1:
        steps.append(steps[-1] // 2)
    lost = next(step for step in steps if step % 2) - 1
    size = _block_size(case)
    real = case.sizes.name.startswith("usual")
    return RULE.finding(
        case.place(halving.loop.node),
        f"the halving loop only works for a power of two: a block of {threads} threads goes {', '.join(map(str, steps))}, and the "
        f"partial result at index {lost} is dropped (the block size on line {case.line(size or case.launch.call.node)} follows the data)",
        severity="error" if real else "warning",
        kernels=(case.kernel,),
        fixes=(*_round_block(case, size), *_any_size(case, halving)),
    )


def _round_block(case: Case, size: Node | None) -> tuple[Fix, ...]:
    """Round the block size up to a power of two where the host code sets it."""
    if size is None:
        return ()
    test = f"rounded < (int)({text(size)}) && rounded < 1024"
    new = f"([&] {{ int rounded = 32; while ({test}) rounded *= 2; return rounded; }}())"
    edit = case.unit.edit(size.start_byte, size.end_byte, new)
    return fix("round the block size up to a power of two", [edit])


def _block_size(case: Case) -> Node | None:
    """Return the expression that a block's size comes from, through the host's variables."""
    config = case.launch.call.config
    expr = resolve(case.launch.host, config[1]) if len(config) > 1 else None
    if isinstance(expr, cpp.Call) and expr.name == "dim3" and expr.args:
        expr = resolve(case.launch.host, expr.args[0])
    elif isinstance(expr, cpp.Items) and expr.items:
        expr = resolve(case.launch.host, expr.items[0])
    return expr.node if expr is not None and not isinstance(expr, cpp.Name) else None


def _any_size(case: Case, halving: Halving) -> tuple[Fix, ...]:
    """Make the tree handle odd counts: halve upwards, and check that the partner exists."""
    node, k, step = halving.loop.node, halving.counter, halving.loop.step
    init, test = node.child_by_field_name("initializer"), node.child_by_field_name("condition")
    if not isinstance(step, cpp.Assign) or init is None or test is None:
        return ()
    edits: list[Edit | None] = [
        case.unit.edit(one.start_byte, one.end_byte, new)
        for one, new in (
            (init, f"int tree_size = blockDim.x, {k} = (blockDim.x + 1) / 2;"),
            (test, "tree_size > 1"),
            (step.node, f"tree_size = {k}, {k} = ({k} + 1) / 2"),
        )
    ]
    for item in descendants(node, "binary_expression"):
        left, right = item.child_by_field_name("left"), item.child_by_field_name("right")
        if text(right) == k and text(item.child_by_field_name("operator")) == "<":
            guard = f"{text(left)} + {k} < tree_size"
            edits.append(case.unit.edit(item.start_byte, item.end_byte, guard))
    label = "halve upwards, so that the tree handles any number of threads"
    return fix(label, edits if len(edits) == 4 else [])


RULE = rule_of(__file__, check)
