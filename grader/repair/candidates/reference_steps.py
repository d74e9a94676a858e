"""Steps of the reference's that an answer leaves out: after a kernel's result, and after a step that both have."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from copy import deepcopy

from grader.records import Edit
from grader.repair.candidates.methods import Change, chain, forward_of, stored
from grader.source import Source, nodes_under
from grader.source.python_code import PythonCode

RESULT = "result"
LAST = 1.4
"""Cost of what the reference does last of all; a little more for each thing before it."""
NEXT = 1.6
"""Cost of one step after a shared one; a little more for each further one."""


def finished(
    source: Source, code: PythonCode, forward: ast.FunctionDef, reference: str
) -> Iterator[Change]:
    """Yield `forward` with more and more of the reference's last operations after it."""
    theirs = forward_of(reference, "Model")
    last = forward.body[-1]
    returns = [node for node in nodes_under(forward) if isinstance(node, ast.Return)]
    if theirs is None or not isinstance(last, ast.Return) or last.value is None or len(returns) > 1:
        return
    start, end = source.span(last)
    value = source.text(last.value)
    indent = " " * last.col_offset
    for number, rest in enumerate(_ends(theirs)):
        lines = told(code, forward, theirs, rest, RESULT)
        if lines is not None:
            text = f"\n{indent}".join([f"{RESULT} = {value}", *lines])
            label = f"do what the reference does last: `{'; '.join(lines)[:100]}`"
            yield label, [Edit(start=start, end=end, text=text)], LAST + 0.1 * number


def _ends(theirs: ast.FunctionDef) -> Iterator[list[ast.stmt]]:
    """Yield the reference's last operations as statements that begin from `result`, the shortest end first."""
    given = {one.arg for one in theirs.args.args[1:]}
    after: list[ast.stmt] = []
    for at in reversed(range(len(theirs.body))):
        statement = theirs.body[at]
        value = _value(statement)
        if value is None:
            return
        made = {name for before in theirs.body[:at] for name in stored(before)}
        for operand in chain(value, given | made):
            if not isinstance(operand, ast.Name) or operand.id in made:
                yield [_from_result(statement, operand), *after]
        after = [statement, *after]


def _value(statement: ast.stmt) -> ast.expr | None:
    match statement:
        case ast.Assign(targets=[ast.Name()], value=value):
            return value
        case ast.Return(value=ast.expr() as value):
            return value
    return None


class _Result(ast.NodeTransformer):
    """Puts `result` in the place of an operand, everywhere that it is named where it is a name."""

    def __init__(self, operand: ast.expr) -> None:
        self.words = ast.dump(operand)

    def visit(self, node: ast.AST) -> ast.AST:
        if isinstance(node, ast.expr) and ast.dump(node) == self.words:
            return ast.Name(id=RESULT, ctx=ast.Load())
        return self.generic_visit(node)


def _from_result(statement: ast.stmt, operand: ast.expr) -> ast.stmt:
    """Return a statement that goes on from `result` where it computed an operand."""
    made = _Result(operand).visit(deepcopy(statement))
    return made if isinstance(made, ast.stmt) else statement


def skipped(
    source: Source, code: PythonCode, forward: ast.FunctionDef, reference: str
) -> Iterator[Change]:
    """Yield `forward` with more and more of the reference's steps put in where they come there."""
    theirs = forward_of(reference, "Model")
    if theirs is None:
        return
    ours = {ast.dump(statement): statement for statement in forward.body}
    for at, statement in enumerate(theirs.body):
        shared = ours.get(ast.dump(statement))
        name = _assigned(statement)
        if shared is None or not name:
            continue
        steps: list[ast.stmt] = []
        for step in theirs.body[at + 1 :]:
            if ast.dump(step) in ours or _assigned(step) != name:
                break
            steps.append(step)
            lines = told(code, forward, theirs, steps, name)
            if lines is None:
                break
            end, indent = source.span(shared)[1], " " * shared.col_offset
            text = "".join(f"\n{indent}{line}" for line in lines)
            label = f"do what the reference does next: `{'; '.join(lines)[:100]}`"
            yield label, [Edit(start=end, end=end, text=text)], NEXT + 0.1 * len(steps)


def _assigned(statement: ast.stmt) -> str:
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)]):
            return name
    return ""


def told(
    code: PythonCode,
    ours: ast.FunctionDef,
    theirs: ast.FunctionDef,
    rest: Sequence[ast.stmt],
    begins: str,
) -> list[str] | None:
    """Return statements that go on from the variable `begins`, in the answer's names.

    None where the answer lacks something that they use.
    """
    given = [one.arg for one in ours.args.args[1:]]
    renamed = dict(zip([one.arg for one in theirs.args.args[1:]], given, strict=False))
    kept = set(given) - stored(ours)
    attributes = {
        node.attr
        for node in (nodes_under(code.model) if code.model is not None else ())
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
    }
    known = {begins, "self"}
    for statement in rest:
        for node in nodes_under(statement):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                if node.value.id == "self" and node.attr not in attributes:
                    return None
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                own = renamed.get(node.id, "")
                if node.id not in known and own not in kept and node.id not in code.aliases:
                    return None
        known |= stored(statement)
    text = [ast.unparse(_renamed(statement, renamed, known)) for statement in rest]
    return None if any("\n" in line for line in text) else text


def _renamed(statement: ast.stmt, names: dict[str, str], known: set[str]) -> ast.stmt:
    """Return a statement with the answer's names for the inputs, what the statements made themselves left as it is."""
    made = deepcopy(statement)
    for node in ast.walk(made):
        if isinstance(node, ast.Name) and node.id in names and node.id not in known:
            node.id = names[node.id]
    return made
