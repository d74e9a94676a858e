"""Lines at the end of an answer that test the model with the problem's own inputs.

`model = ModelNew(*get_init_inputs()); print(model(*get_inputs()).shape)` below the class works in KernelBench, where an
answer runs in the namespace of the problem's file; alone it is a NameError at import. It is not part of the task, so it
is removed.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from grader.records import Submission

if TYPE_CHECKING:
    from collections.abc import Sequence

INPUTS = frozenset({"get_inputs", "get_init_inputs"})


def without_trial_run(submission: Submission) -> Submission:
    """Return the submission with these lines blank; unchanged where it has none."""
    body = ast.parse(submission.code).body
    trial = _trial(body)
    if not trial:
        return submission
    first, last = trial[0].lineno, trial[-1].end_lineno or trial[-1].lineno
    if any(first <= (one.end_lineno or one.lineno) and one not in trial for one in body):
        return submission
    lines = submission.code.splitlines(keepends=True)
    lines[first - 1 : last] = ["\n"] * (last - first + 1)
    note = (
        "the lines at its end that try the model out with the problem's `get_inputs` are left out: "
        "they are no part of the answer, and alone they stop with NameError"
    )
    return submission.model_copy(
        update={"code": "".join(lines), "notes": (*submission.notes, note)}
    )


def _trial(body: Sequence[ast.stmt]) -> list[ast.stmt]:
    """Return the last statements, from the first one whose names are used only in the test."""
    defined = {one.name for one in body if isinstance(one, ast.FunctionDef | ast.ClassDef)}
    trial: list[ast.stmt] = []
    for one in reversed(body):
        if not isinstance(one, ast.Assign | ast.Expr | ast.For | ast.With | ast.Assert | ast.If):
            break
        trial.insert(0, one)
    while trial and not _serves(trial, body, defined):
        trial.pop(0)
    return trial


def _serves(trial: Sequence[ast.stmt], body: Sequence[ast.stmt], defined: set[str]) -> bool:
    """Whether these statements construct a model, call it on the problem's inputs, and bind no names for other code."""
    read = _names(trial, ast.Load)
    others = _taken_from_the_module([one for one in body if one not in trial])
    first = _names(trial[:1], ast.Load)
    return (
        bool(read & INPUTS - defined)
        and bool(first & (INPUTS | {"ModelNew"}))
        and not _names(trial, ast.Store) & others
    )


def _taken_from_the_module(statements: Sequence[ast.stmt]) -> set[str]:
    """Return the names that statements read, without those that their functions bind themselves."""
    functions = [
        node
        for one in statements
        for node in ast.walk(one)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    own = {id(part) for function in functions for part in ast.walk(function)}
    plain = {
        node.id
        for one in statements
        for node in ast.walk(one)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and id(node) not in own
    }
    free = set[str]()
    for function in functions:
        given = {node.arg for node in ast.walk(function) if isinstance(node, ast.arg)}
        free |= _names([function], ast.Load) - given - _names([function], ast.Store)
    return plain | free


def _names(statements: Sequence[ast.stmt], context: type[ast.expr_context]) -> set[str]:
    return {
        node.id
        for one in statements
        for node in ast.walk(one)
        if isinstance(node, ast.Name) and isinstance(node.ctx, context)
    }
