"""Indices that go on with a thread's number after it was divided up, `idx /= width`: by then it is another one."""

from __future__ import annotations

import re
from collections.abc import Iterator

from grader.repair.variants.sites import Scope, parts
from grader.repair.variants.variant import Piece, Variant
from grader.source.cuda_code import descendants, text


def divided(scope: Scope) -> Iterator[Variant]:
    """Yield what the rest was named, `b = idx / channels`, or what the number was at first, in the place of such a number."""
    body = scope.function.body
    if scope.function.runs == "host" or body is None:
        return
    spent: dict[str, int] = {}
    for node in descendants(body, "assignment_expression"):
        left, sign, _ = parts(node)
        if sign == "/=":
            spent[left] = node.end_byte
    made = [
        (text(node.child_by_field_name("declarator")), text(node.child_by_field_name("value")))
        for node in descendants(body, "init_declarator")
    ]
    for access in descendants(body, "subscript_expression") if spent else ():
        for node in descendants(access, "identifier"):
            name = text(node)
            if node.start_byte < spent.get(name, node.end_byte):
                continue
            rest = [other for other, value in made if re.match(rf"{re.escape(name)}\s*/", value)]
            first = [f"({value})" for other, value in made if other == name]
            for words, cost in (*((w, 1.2) for w in rest), *((w, 2.0) for w in first)):
                yield Variant((Piece(scope.unit, node, "replace", words),), cost)
