"""SYN004: a shuffle's mask names lanes that don't take part."""

from collections.abc import Iterator

from tree_sitter import Node

from grader.records import Context, Finding
from grader.records.observed import observed_evidence
from grader.rules.page_file import read_page
from grader.rules.proofs import of_the_leavers, settle
from grader.rules.rule import Rule
from grader.source import Source
from grader.source.analysis.apart import Parted, absent_lanes, parted_barriers
from grader.source.analysis.walks import Case, cases
from grader.source.code_edits import fix
from grader.source.cuda_code import around, cuda_code, one_line
from grader.source.rewriting.all_lanes import all_lanes, branch_of

OLD = ("__shfl", "__shfl_down", "__shfl_up", "__shfl_xor", "__ballot", "__any", "__all")
FUNCTIONS = {"function_definition", "lambda_expression"}


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Look for shuffles that a part of the named lanes reaches."""
    found: dict[tuple[str, int], Finding] = {}
    apart = False
    for case in cases(source, context):
        apart = apart or any(not one.left for one in parted_barriers(case))
        for one in absent_lanes(case):
            where = _where(one)
            found.setdefault((case.kernel, case.line(where)), _of_the_mask(case, one, where))
    groups = ("shuffle", "divergence") if found and not apart else ("shuffle",)
    for finding in settle(RULE, found.values(), observed_evidence(context, *groups), source):
        yield of_the_leavers(finding, "sync-exited-lanes", source)
    yield from _without_a_mask(source)


def _without_a_mask(source: Source) -> Iterator[Finding]:
    """Report exchanges of the old kind, which trusted that the threads of a warp move together."""
    for unit in source.cuda:
        for call in cuda_code(unit).calls:
            if call.name in OLD and call.object is None:
                start = call.node.start_byte
                edit = unit.edit(
                    start, start + len(call.name) + 1, f"{call.name}_sync(0xffffffff, "
                )
                yield RULE.finding(
                    unit.place(call.node),
                    f"`{call.name}` without `_sync` no longer exists on today's GPUs; it trusted that the threads of a warp move together",
                    severity="warning",
                    predicts="elsewhere",
                    fixes=fix("use the synchronising form", [edit]),
                )


def _where(one: Parted) -> Node:
    """Return the shuffle, or what stands at the branch where that is in a caller.

    That is the call in the kernel, or the branch itself where it is in a helper in between.
    """
    shuffle: Node = one.at.node
    call: Node | None = one.at.call
    branch = one.cause
    if call is None or branch is None:
        return shuffle
    helper = _function(shuffle)
    if helper is not None and helper.start_byte <= branch.start_byte < helper.end_byte:
        return shuffle
    return branch if _function(branch) != _function(call) else call


def _function(node: Node) -> Node | None:
    return next((outer for outer in around(node) if outer.type in FUNCTIONS), None)


def _of_the_mask(case: Case, one: Parted, where: Node) -> Finding:
    """Say which lanes a warp exchange waits for in vain, and what keeps them away."""
    inner = (
        f" (the shuffle itself is on line {case.line(one.at.node)})"
        if where is not one.at.node
        else ""
    )
    exchange = f"the warp exchange{inner}"
    condition = f"`{one_line(one.cause, 60)}`" if one.cause is not None else "`a condition`"
    line = case.line(one.cause)
    if one.left:
        message = f"{exchange} names all lanes with its mask, but lanes have returned under {condition} (line {line})"
    else:
        message = (
            f"{exchange} waits for all lanes that its mask names, but not all of a warp get there: {condition} (line {line}) "
            f"keeps lanes away (e.g. {one.absent % 32}), so the result is undefined and the kernel may hang"
        )
    branch = branch_of(where, one.cause)
    return RULE.finding(
        case.place(where),
        message,
        severity="warning" if one.left else None,
        confidence="likely",
        kernels=(case.kernel,),
        fixes=all_lanes(case, where, branch) if branch else (),
    )


RULE = Rule(**read_page(__file__), detects=("text", "evidence"), check=check, predicts="barrier")
