"""Steps of the reference's that an answer leaves out after its kernel's result."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from copy import deepcopy
from typing import Any

from grader.repair.candidates.candidate import Candidate, Piece
from grader.repair.candidates.forward.methods import chain, forward_of, stored_names
from grader.source import Source, nodes_under
from grader.source.python_code import PythonCode

RESULT = "result"
LAST = 1.4
"""Cost of what the reference does last of all; a little more for each thing before it."""


def finish_forward(
    source: Source, code: PythonCode, forward: ast.FunctionDef, reference: str
) -> Iterator[Candidate]:
    """Yield `forward` with more and more of the reference's last operations after it."""
    theirs, last = forward_of(reference, "Model"), forward.body[-1]
    returns = [node for node in nodes_under(forward) if isinstance(node, ast.Return)]
    if theirs is None or not isinstance(last, ast.Return) or last.value is None or len(returns) > 1:
        return
    indent = " " * last.col_offset
    for number, rest in enumerate(_ends(theirs)):
        lines = _told(code, forward, theirs, rest)
        if lines is not None:
            text = f"\n{indent}".join([f"{RESULT} = {source.text(last.value)}", *lines])
            label = f"do what the reference does last: `{'; '.join(lines)[:100]}`"
            piece = Piece(source, last, text)
            yield Candidate((piece,), LAST + 0.1 * number, "host", said=label)


def _ends(theirs: ast.FunctionDef) -> Iterator[list[ast.stmt]]:
    """Yield the reference's last operations as statements that begin from `result`, the shortest end first."""
    given = {one.arg for one in theirs.args.args[1:]}
    for at in reversed(range(len(theirs.body))):
        match statement := theirs.body[at]:
            case (
                ast.Assign(targets=[ast.Name()], value=value)
                | ast.Return(value=ast.expr() as value)
            ):
                made = {name for before in theirs.body[:at] for name in stored_names(before)}
                for operand in chain(value, given | made):
                    if not isinstance(operand, ast.Name) or operand.id in made:
                        begun: ast.stmt = _Result(ast.dump(operand)).visit(deepcopy(statement))
                        yield [begun, *theirs.body[at + 1 :]]
            case _:
                return


class _Result(ast.NodeTransformer):
    """Puts `result` in the place of an operand, everywhere that it is named where it is a name."""

    def __init__(self, operand: str) -> None:
        self.operand = operand

    def visit(self, node: ast.AST) -> Any:
        if isinstance(node, ast.expr) and ast.dump(node) == self.operand:
            return ast.Name(id=RESULT, ctx=ast.Load())
        return self.generic_visit(node)


def _told(
    code: PythonCode, ours: ast.FunctionDef, theirs: ast.FunctionDef, rest: Sequence[ast.stmt]
) -> list[str] | None:
    """Return statements that go on from the result, in the answer's names; None where it lacks what they use."""
    given = [[one.arg for one in each.args.args[1:]] for each in (theirs, ours)]
    renamed = dict(zip(*given, strict=False))
    changed = stored_names(ours)
    own = {t.attr for t in code.of(ast.Attribute) if isinstance(t.ctx, ast.Store)}
    known = {RESULT, "self"}
    lines = []
    for statement in map(deepcopy, rest):
        for node in ast.walk(statement):
            match node:
                case ast.Attribute(value=ast.Name(id="self"), attr=name) if name not in own:
                    return None
                case ast.Name(id=name, ctx=ast.Load()) if name not in known:
                    if renamed.get(name, name) in changed or (
                        name not in renamed and name not in code.aliases
                    ):
                        return None
                    node.id = renamed.get(name, name)
        known |= stored_names(statement)
        lines.append(ast.unparse(statement))
    return None if any("\n" in line for line in lines) else lines
