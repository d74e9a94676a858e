"""The fixes of an exchange under a condition that lanes of a warp don't share: it runs in all lanes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from tree_sitter import Node

from grader.records import Edit, Fix
from grader.source.analysis.walks import Case
from grader.source.code_edits import delete_lines_of, fix
from grader.source.cuda_code import around, read_call, text
from grader.source.rewriting.reductions import Step, step_of
from grader.source.statements import (
    LOOPS,
    enclosing_loops,
    indent_of,
    insert_before,
    simple_statement,
    statement,
)

NEUTRAL = "let every lane take part in the exchange, the others with a neutral value"
OWN = "let every lane take part in the exchange"


@dataclass(frozen=True)
class Partial:
    """An exchange in a branch that a part of a warp takes."""

    case: Case
    exchange: Node
    """The shuffle."""
    where: Node
    """It, or the call in the branch that leads to it."""
    branch: Node

    @cached_property
    def reduced(self) -> Step | None:
        """What `v = warp_sum(v)` reduces, where that is all that the branch holds."""
        alone, set_to = only_statement(self.branch), self.where.parent
        if alone is None or set_to is None or set_to.type != "assignment_expression":
            return None
        if set_to.parent != alone or text(set_to.child_by_field_name("operator")) != "=":
            return None
        return step_of(self.case, self.exchange, self.where)


def branch_of(where: Node, cause: Node | None) -> Node | None:
    """Return the `if` whose condition keeps lanes away, where it stands around the exchange."""
    nodes = around(cause) if cause is not None else ()
    branch = next((node for node in nodes if node.type == "if_statement"), None)
    inside = branch is not None and branch.start_byte < where.start_byte < branch.end_byte
    return branch if inside else None


def all_lanes(partial: Partial) -> tuple[Fix, ...]:
    """Return the ways to take an exchange out of its branch.

    The lanes that the branch keeps away bring their own value, or one that changes nothing; the latter first
    where the same was asked before: then the branch's lanes alone hold what the author means by the value.
    """
    own, neutral = _with_own_values(partial), _with_neutral_values(partial)
    return (*neutral, *own) if _set_under_the_same(partial) else (*own, *neutral)


def _with_own_values(partial: Partial) -> tuple[Fix, ...]:
    """Run the exchange before the branch."""
    case, where, branch = partial.case, partial.where, partial.branch
    loops = [loop for loop in enclosing_loops(where) if branch.start_byte < loop.start_byte]
    own, alone = loops[-1] if loops else simple_statement(where), only_statement(branch)
    if own == branch:  # the exchange is in a helper that the branch calls
        own = alone or own
    if own.type not in {"expression_statement", *LOOPS} or own.start_byte <= branch.start_byte:
        return ()
    moved = _outdent(case, own, branch)
    if own == alone:
        return fix(OWN, [_instead(partial, moved)])
    return fix(OWN, [insert_before(case.unit, statement(branch), moved), _leave_branch(case, own)])


def _leave_branch(case: Case, own: Node) -> Edit | None:
    """Take a statement out of a branch."""
    if own.parent is None or own.parent.type != "compound_statement":
        return case.unit.edit(own.start_byte, own.end_byte, ";")
    return delete_lines_of(case.unit, own)


def _with_neutral_values(partial: Partial) -> tuple[Fix, ...]:
    """Give the call the value of the branch's lanes, and zero (or an infinity) of the others."""
    step, condition = partial.reduced, partial.branch.child_by_field_name("condition")
    call = partial.where
    given = [
        node for node in read_call(call).arguments if step is not None and text(node) == step.value
    ]
    if step is None or condition is None or len(given) != 1:
        return ()
    start, end = given[0].start_byte - call.start_byte, given[0].end_byte - call.start_byte
    asked = text(condition).removeprefix("(").removesuffix(")")
    chosen = f"{asked} ? {step.value} : {step.identity}"
    whole = text(call).encode()
    made = (whole[:start] + chosen.encode() + whole[end:]).decode()
    return fix(NEUTRAL, [_instead(partial, f"{step.value} = {made};")])


def _set_under_the_same(partial: Partial) -> bool:
    """Whether an earlier branch on the same condition sets what is exchanged."""
    block = statement(partial.branch).parent
    if partial.reduced is None or block is None:
        return False
    condition = text(partial.branch.child_by_field_name("condition"))
    earlier = [n for n in block.named_children if n.end_byte <= partial.branch.start_byte]
    same = [
        text(only_statement(n))
        for n in earlier
        if n.type == "if_statement" and text(n.child_by_field_name("condition")) == condition
    ]
    return any(words.startswith(f"{partial.reduced.value} =") for words in same)


def _instead(partial: Partial, made: str) -> Edit | None:
    """Put another statement in the place of the branch."""
    whole = statement(partial.branch)
    return partial.case.unit.edit(whole.start_byte, whole.end_byte, made)


def _outdent(case: Case, own: Node, branch: Node) -> str:
    """Return a statement's text as it stands where the branch begins."""
    base = indent_of(case.unit, statement(branch))
    more = " " * max(len(indent_of(case.unit, own)) - len(base), 0)
    first, *rest = text(own).split("\n")
    return "\n".join((first, *(line.removeprefix(more).removeprefix(base) for line in rest)))


def only_statement(branch: Node) -> Node | None:
    """Return the one statement that an `if` without `else` guards."""
    inner = branch.child_by_field_name("consequence")
    if inner is None or branch.child_by_field_name("alternative") is not None:
        return None
    if inner.type == "compound_statement":
        return inner.named_children[0] if len(inner.named_children) == 1 else None
    return inner
