"""MEM017: a device variable that counts blocks is not reset between launches."""

from collections.abc import Iterator

from tree_sitter import Node

from grader.records.observed import wrong_results
from grader.rules import Context, Finding, Fix, Source, Unit, fix, rule_of
from grader.source.code_edits import replace_node
from grader.source.cpp_reading import read_call
from grader.source.nodes import around, one_line, text

COUNTS = frozenset({"atomicAdd"})
UNSIGNED = frozenset({"unsigned", "unsigned int", "uint32_t", "uint"})
SEEN = frozenset({"unwritten-output", "unwritten", "uninit-global-read", "probe-unsteady"})
"""Evidence of a last block that is detected too early or never."""


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Look for counters at file scope that are compared with the number of blocks and never reset."""
    seen = [item for item in context.evidence if item.code in SEEN]
    for unit in source.cuda:
        for name, declared in _variables(unit):
            mentions = [n for n in unit.nodes("identifier") if text(n) == name]
            counted = [call for n in mentions if (call := _counting_call(n)) is not None]
            if len(counted) != 1 or len(mentions) != 2:  # declared, counted, and nothing else
                continue
            yield RULE.finding(
                unit.place(counted[0]),
                f"`{name}` keeps its count from one launch to the next, and nothing sets it back: from the second launch on "
                "another block than the last is taken for it, or none",
                evidence=seen if wrong_results(context) else (),
                fixes=_wraps(unit, declared, counted[0]),
                cause="unwritten" if seen else "",
                root_cause=True,
            )


def _variables(unit: Unit) -> Iterator[tuple[str, Node]]:
    """Yield the names and declarations of scalar device variables at file scope."""
    for node in unit.nodes("declaration"):
        outside = not any(one.type == "function_definition" for one in around(node))
        made = node.child_by_field_name("declarator")
        if made is not None and made.type == "init_declarator":
            made = made.child_by_field_name("declarator")
        if outside and made is not None and made.type == "identifier":
            if "__device__" in one_line(node).split():
                yield text(made), node


def _counting_call(mention: Node) -> Node | None:
    """Return the call in `atomicAdd(&name, 1) == gridDim.x - 1` around a use of the name."""
    call = next((one for one in around(mention) if one.type == "call_expression"), None)
    if call is None or read_call(call).name not in COUNTS:
        return None
    asked = call.parent
    while asked is not None and asked.type in {"parenthesized_expression", "cast_expression"}:
        asked = asked.parent
    compares = asked is not None and asked.type == "binary_expression" and "gridDim" in text(asked)
    return call if compares else None


def _wraps(unit: Unit, declared: Node, call: Node) -> tuple[Fix, ...]:
    """Count with `atomicInc`, which wraps around after the last block, where counter and step allow that."""
    kind, arguments = text(declared.child_by_field_name("type")), read_call(call).arguments
    one = len(arguments) == 2 and text(arguments[1]).rstrip("uU") == "1"
    last = text(call.parent).endswith("== gridDim.x - 1")
    if kind not in UNSIGNED or not one or not last:
        return ()
    words = f"atomicInc({text(arguments[0])}, gridDim.x - 1)"
    return fix("let the count begin anew after the last block", [replace_node(unit, call, words)])


RULE = rule_of(__file__, check, predicts="wrong-values")
