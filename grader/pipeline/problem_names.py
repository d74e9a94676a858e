"""Names of the problem's file that an answer reads without defining them.

KernelBench executes the problem's file and the answer's in one namespace (`load_custom_model` of its eval.py gets the
context of `load_original_model_and_inputs`), so that an answer may lean on `batch_size` or on `import torch.nn as nn` of
the file that it was shown. Here an answer is built alone, so the names that it needs are put before its code. Only
constants and imports are: not the reference's classes and functions. Lines that try the model out with the problem's
inputs go.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from grader.pipeline.trial_runs import INPUTS, without_trial_run
from grader.records import Context, Submission, Task
from grader.rules.contract.undefined_python_name import undefined_where_it_counts
from grader.source import parse

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_PLAIN = (
    ast.Constant | ast.Name | ast.Tuple | ast.List | ast.BinOp | ast.UnaryOp | ast.operator
    | ast.unaryop | ast.expr_context
)  # fmt: skip


def with_problem_names(submission: Submission, task: Task | None) -> Submission:
    """Return the submission completed from the problem's file; unchanged where it needs no name."""
    if task is None or task.source in {"builtin", "own-inputs"}:
        return submission
    missing = undefined_where_it_counts(parse(submission.code), Context(task=task))
    if INPUTS & {*missing}:
        submission = without_trial_run(submission)
        missing = undefined_where_it_counts(parse(submission.code), Context(task=task))
    if not missing:
        return submission
    statements = _statements(task.reference)
    borrowed = {name: needed for name in missing if (needed := _closure(name, statements))}
    if not borrowed:
        return submission
    taken = {id(statements[name]) for needed in borrowed.values() for name in needed}
    chosen = [one for one in dict.fromkeys(statements.values()) if id(one) in taken]
    return _add_statements(submission, tuple(borrowed), chosen)


def _add_statements(
    submission: Submission, borrowed: tuple[str, ...], statements: list[ast.stmt]
) -> Submission:
    lines = [ast.unparse(one) for one in statements]
    at = _after_future_imports(submission.code)
    code = submission.code.splitlines(keepends=True)
    listed = ", ".join(f"`{name}`" for name in borrowed)
    note = (
        f"{listed} of the problem's file put before the code: KernelBench runs an answer among "
        "the names of that file; alone it stops with NameError"
    )
    return submission.model_copy(
        update={
            "code": "".join((*code[:at], *(f"{line}\n" for line in lines), *code[at:])),
            "line_map": (
                *submission.line_map[:at],
                *(0 for _ in lines),
                *submission.line_map[at:],
            ),
            "borrowed": borrowed,
            "notes": (*submission.notes, note),
        }
    )


def _after_future_imports(code: str) -> int:
    """Return the number of lines that must stay first."""
    futures = [
        node.end_lineno or node.lineno
        for node in ast.parse(code).body
        if isinstance(node, ast.ImportFrom) and node.module == "__future__"
    ]
    return max(futures, default=0)


# the names that the problem's file offers


def _statements(reference: str) -> dict[str, ast.stmt]:
    """Return the constants and imports of a module, by the names that they bind at its end."""
    try:
        body = ast.parse(reference).body
    except (SyntaxError, ValueError, RecursionError):
        return {}
    return {name: statement for statement in body for name in _bound_names(statement)}


def _bound_names(statement: ast.stmt) -> Iterator[str]:
    if isinstance(statement, ast.Import | ast.ImportFrom):
        for alias in statement.names:
            yield (alias.asname or alias.name).split(".")[0]
    elif isinstance(statement, ast.Assign) and all(
        isinstance(node, _PLAIN) for node in ast.walk(statement.value)
    ):
        for target in statement.targets:
            yield from (node.id for node in ast.walk(target) if isinstance(node, ast.Name))


def _closure(name: str, statements: Mapping[str, ast.stmt]) -> frozenset[str]:
    """Return a name with all names in its value; nothing where one of them is unavailable."""
    taken, todo = set[str](), [name]
    while todo:
        one = todo.pop()
        if one not in statements:
            return frozenset()
        taken.add(one)
        todo += [read for read in _reads(statements[one]) if read not in taken]
    return frozenset(taken)


def _reads(statement: ast.stmt) -> list[str]:
    return [
        node.id
        for node in ast.walk(statement)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
    ]
