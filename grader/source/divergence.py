"""Whether all threads of a block reach a place, from the conditions around it."""

from tree_sitter import Node

from grader.source.definitions import definitions
from grader.source.nodes import around, names_in

CONTROLS = frozenset(
    {"if_statement", "for_statement", "while_statement", "do_statement", "switch_statement"}
)
FUNCTIONS = frozenset({"function_definition", "lambda_expression"})
BODIES = ("body", "consequence", "alternative")


def all_arrive(block: Node) -> bool:
    """Whether every thread of a block reaches a place, as far as the text shows.

    No condition around it may depend on the thread's index or values computed from it. Earlier returns are ignored.
    """
    function = next((one for one in around(block) if one.type in FUNCTIONS), None)
    own = varying_variables(function) if function is not None else frozenset()
    inside = (one for one in (block, *around(block)) if one.type in CONTROLS)
    return not any(_depends(part, own) for one in inside for part in _heads(one))


def depends_on_thread(condition: Node) -> bool:
    """Whether a condition differs between the threads of a block."""
    function = next((one for one in around(condition) if one.type in FUNCTIONS), None)
    return _depends(condition, varying_variables(function) if function is not None else frozenset())


def _heads(control: Node) -> list[Node]:
    """Return a statement's controlling parts, without its bodies."""
    bodies = [control.child_by_field_name(name) for name in BODIES]
    skipped = {body.id for body in bodies if body is not None}
    return [child for child in control.named_children if child.id not in skipped]


def varying_variables(function: Node) -> frozenset[str]:
    """Return the variables of a function whose value depends on the thread's number."""
    made = [one for one in definitions(function) if one.target.type == "identifier"]
    known: set[str] = set()
    before = -1
    while len(known) > before:
        before = len(known)
        known |= {one.name for one in made if _depends(one.value, known)}
    return frozenset(known)


def _depends(node: Node, known: frozenset[str] | set[str]) -> bool:
    return not names_in(node).isdisjoint({"threadIdx", *known})
