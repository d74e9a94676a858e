"""SYN001: shared memory is read that nobody has filled."""

from collections.abc import Iterator
from itertools import chain

from tree_sitter import Node

from grader.records import Context, Evidence, Finding, Fix
from grader.records.observed import kernel_of, observed_evidence
from grader.rules.causes import cause_of
from grader.rules.page_file import read_page
from grader.rules.proofs import confirm
from grader.rules.rule import Rule
from grader.source import Source
from grader.source.analysis.apart import unfilled
from grader.source.analysis.races import lines_of
from grader.source.analysis.starved import starved_reads
from grader.source.analysis.walks import Case, cases, spans
from grader.source.code_edits import fix
from grader.source.cuda_code import around, descendants, one_line, text
from grader.source.flow import Access
from grader.source.statements import (
    add_statement,
    enclosing_loops,
    insert_before,
    simple_statement,
    statement,
)


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Look for arrays that a kernel reads and never fills, and for what runs showed of unwritten cells."""
    found: dict[tuple[str, str], Finding] = {}
    for case in cases(source, context):
        for name, read in unfilled(case).items():
            found.setdefault((case.kernel, name), _finding(case, name, read))
    proof: dict[str, list[Evidence]] = {}
    for item in _evidence(source, context):
        proof.setdefault(kernel_of(item, spans(source)), []).append(item)
    yield from confirm(found.values(), chain(*proof.values()), source)
    for kernel in proof.keys() - {kernel for kernel, _ in found}:
        items = proof[kernel]
        yield RULE.finding(items[0].place, cause_of(items[0]), evidence=items)


def _evidence(source: Source, context: Context) -> tuple[Evidence, ...]:
    """Return what runs showed, but for what a race or threads that left early explain."""
    every = cases(source, context)
    races = lines_of(observed_evidence(context, "race"))
    races -= {case.line(read.node) for case in every for read in unfilled(case).values()}
    others = [item for items in starved_reads(source, context).values() for item in items]
    return tuple(
        item
        for item in observed_evidence(context, "uninit")
        if (item.place is None or item.place.line not in races) and item not in others
    )


def _finding(case: Case, name: str, read: Access) -> Finding:
    line, tree = case.line(read.node), _tree_add(read.node)
    if tree is not None:
        message = (
            f"no thread stores its own partial result to `{name}` before line {line} reads it, so only thread 0's part reaches the total, "
            "with leftovers of shared memory added to it"
        )
    else:
        message = f"line {line} reads `{name}`, which no thread has stored anything in by then"
    return RULE.finding(
        case.place(read.node),
        message,
        fixes=_fixes(case, tree),
        kernels=(case.kernel,),
        cause=f"uninit {case.kernel} {name}",
    )


def _tree_add(node: Node) -> Node | None:
    """Return the `value += array[i + s]` around a read in a loop, if it is one."""
    for outer in around(node):
        if outer.type.endswith("statement"):
            return None
        if outer.type == "assignment_expression":
            left = outer.child_by_field_name("left")
            plain = left is not None and left.type == "identifier"
            return outer if plain and any(enclosing_loops(outer)) else None
    return None


def _fixes(case: Case, add: Node | None) -> tuple[Fix, ...]:
    """Store each partial result before the loop, and keep the cells up to date inside it."""
    loop = next(enclosing_loops(add), None) if add is not None else None
    adds = (
        [(one, _stored_text(one)) for one in descendants(loop, "assignment_expression")]
        if loop
        else []
    )
    stores = {store: one for one, store in adds if store}
    if loop is None or add not in stores.values():
        return ()
    before = insert_before(case.unit, statement(loop), "\n".join((*stores, "__syncthreads();")))
    after = [add_statement(case.unit, simple_statement(one), s) for s, one in stores.items()]
    label = "store each thread's partial result before the tree, and update its cell in every step"
    return fix(label, [before, *after])


def _stored_text(add: Node) -> str:
    """Return `s[tid] = v;` for `v += s[tid + k];`, an empty text where it is no such step."""
    value, right = add.child_by_field_name("left"), add.child_by_field_name("right")
    if value is None or right is None or value.type != "identifier":
        return ""
    for read in descendants(right, "subscript_expression"):
        base, sums = (
            read.child_by_field_name("argument"),
            list(descendants(read, "binary_expression")),
        )
        if base is not None and sums and text(sums[0].child_by_field_name("operator")) == "+":
            own = one_line(sums[0].named_children[0])
            return f"{text(base)}[{own}] = {text(value)};"
    return ""


RULE = Rule(
    **read_page(__file__), detects=("text", "evidence"), check=check, predicts="unwritten-read"
)
