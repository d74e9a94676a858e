"""MEM001: threads past the end of the data read or write."""

import re
from collections.abc import Iterator

from grader.records import Context, Finding, Fix
from grader.records.observed import observed_evidence
from grader.rules.page_file import read_page
from grader.rules.proofs import confirm
from grader.rules.rule import Rule
from grader.source import Source
from grader.source.analysis.overruns import Overrun, overruns
from grader.source.analysis.walks import Case
from grader.source.code_edits import fix
from grader.source.cuda_code import text
from grader.source.flow import Access
from grader.source.statements import simple_statement

INTEGERS = {"int", "int64_t", "long", "long long", "size_t", "unsigned int", "unsigned", "uint32_t", "int32_t"}  # fmt: skip


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Walk the last block of each launch, and compare its addresses with the buffers' sizes."""
    found = {one.case.kernel: _finding(one) for one in overruns(source, context)}
    yield from confirm(found.values(), observed_evidence(context, "oob"), source)


def _finding(one: Overrun) -> Finding:
    case = one.case
    access, index = one.accesses[0]
    tensor, name, many = access.region.tensor, access.region.name, access.scale
    what = "reads" if access.kind == "load" else "writes"
    blocks = case.launch.grid[0]
    how = (
        f"{many} elements of `{name}` at once, and nothing compares the last of them with its size"
        if many > 1
        else f"`{name}` at an index that nothing compares with its size"
    )
    return RULE.finding(
        case.place(access.node),
        f"line {case.line(access.node)} {what} {how}: with {tensor.numel if tensor else 0} elements and {blocks} block{'s' * (blocks != 1)} of "
        f"{case.walk.threads} threads the last block {what} element {index}",
        fixes=_guard(case, access),
        kernels=(case.kernel,),
        cause=f"oob {case.kernel}",
    )


def _guard(case: Case, access: Access) -> Iterator[Fix]:
    """Put the access under `if (index < count)`, for each integer parameter that may be the count.

    A factor of the index (`cols` of `row * cols + col`) is the length of a row, not of all; nor is a number that is
    known to be another than the tensor's elements.
    """
    node, own = access.node, simple_statement(access.node)
    if own.type != "expression_statement" or node.type != "subscript_expression":
        return
    index = text(node.child_by_field_name("indices"))[1:-1]
    rows = set(re.findall(r"(?<=\*\s)\w+|(?<=\*)\w+|\w+(?=\s*\*)", index))
    for one in reversed(case.walk.kernel.parameters):
        count = not one.is_pointer and one.kind in INTEGERS and one.name not in rows
        if count and _may_count(case, access, one.name):
            edit = case.unit.edit(own.start_byte, own.start_byte, f"if ({index} < {one.name}) ")
            yield from fix(f"guard the access with `{index} < {one.name}`", [edit])


def _may_count(case: Case, access: Access, name: str) -> bool:
    """Whether a parameter may be the number of a tensor's elements, by the numbers that the launch gives."""
    names = [one.name for one in case.walk.kernel.parameters]
    given = dict(zip(names, case.launch.arguments, strict=False)).get(name)
    number = given.scalar if given is not None else None
    numel = access.region.tensor.numel if access.region.tensor is not None else None
    return number is None or numel is None or number == numel


RULE = Rule(**read_page(__file__), detects=("text", "evidence"), check=check)
