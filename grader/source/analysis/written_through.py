"""Whether a function may write through one of its pointers."""

from grader.source import Function, Unit


def written_through(unit: Unit, function: Function, name: str) -> bool:
    """Whether a function may write through a pointer: it stores, or passes the pointer on."""
    for node in unit.uses_of(name):
        if not function.node.start_byte <= node.start_byte < function.node.end_byte:
            continue
        parent = node.parent
        if parent is None or parent.type == "pointer_declarator":
            continue
        if parent.type != "subscript_expression":
            return True
        outer = parent.parent
        if outer is not None and (
            outer.type in {"update_expression", "pointer_expression"}
            or (
                outer.type == "assignment_expression"
                and outer.child_by_field_name("left") == parent
            )
        ):
            return True
    return False
