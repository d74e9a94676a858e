"""An answer's own inputs: an answer to an unknown task is run on them, and its results are not compared.

They come from its `get_inputs`, from lines that test its model, or from its code's use of the input. Races, accesses
out of bounds and refused launches show on any inputs that the program is made for.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from grader.ingest.fences import cut_segments
from grader.languages import asks_a_compiler
from grader.records import Sample, Submission, Task, digest
from grader.source.parse import read_python
from grader.source.scopes import names_used, needed_statements
from grader.tasks.made_inputs import made_inputs
from grader.tasks.problem import from_reference, missing_names

ANSWER = "ModelNew"
MAKERS = ("get_inputs", "get_init_inputs")
NOTHING_EXPECTED = '''
class Model(torch.nn.Module):
    """Takes what the answer takes; nobody knows what should come of it."""

    def __init__(self, *arguments, **named):
        super().__init__()

    def forward(self, *inputs, **named):
        return ()
'''


class OwnTask(NamedTuple):
    """The draft of a task from the answer's own inputs, and the source of these in words."""

    task: Task
    source: str


def own_reference(submission: Submission) -> Task | None:
    """Return the task of a file that has reference and answer side by side: `Model`, `get_inputs`, `ModelNew`."""
    tree, _ = read_python(submission.code)
    if tree is None or missing_names(submission.code):
        return None
    text = _unparse(needed_statements(tree.body, ("Model", *MAKERS)))
    return None if ANSWER in text or asks_a_compiler(text) else from_reference(text)


def own_inputs(sample: Sample, submission: Submission) -> OwnTask | None:
    """Return a task without expected values, on inputs made by the answer."""
    for text in _texts(sample, submission):
        tree, _ = read_python(text)
        body = tree.body if tree else []
        if "get_inputs" in {getattr(one, "name", "") for one in body}:
            return _draft(_unparse(needed_statements(body, MAKERS)), "its own `get_inputs`")
        for scope in _scopes(body):
            if makers := _makers_of_a_trial(scope):
                return _draft(makers, "the lines that try its model out")
    made = made_inputs(submission.code)
    return (
        _draft(made, "us: one tensor with the number of dims that its code uses") if made else None
    )


def _texts(sample: Sample, submission: Submission) -> Iterator[str]:
    """Yield the answer's program, then the other blocks of the text, the last one first."""
    yield submission.code
    segments = [one for one in cut_segments(sample.text) if one.inside]
    yield from (sample.text[one.start : one.end] for one in reversed(segments))


def _draft(makers: str, source: str) -> OwnTask | None:
    if ANSWER in makers or asks_a_compiler(makers):
        return None
    text = f"import torch\n{makers}\n{NOTHING_EXPECTED}"
    name = f"own-inputs-{digest('own inputs', text)[:8]}"
    return OwnTask(
        Task(name=name, title="", source="own-inputs", reference=text, workloads=()), source
    )


def _scopes(body: Sequence[ast.stmt]) -> Iterator[list[ast.stmt]]:
    """Yield the statements of the module with those under `if __name__ == ...`, then with those of each function."""
    for one in body:
        if isinstance(one, ast.If | ast.FunctionDef):
            yield [*(other for other in body if other is not one), *_flat(one.body)]
    yield list(body)


def _flat(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements, including those inside `with torch.no_grad():`."""
    for one in body:
        yield from _flat(one.body) if isinstance(one, ast.With) else (one,)


def _makers_of_a_trial(scope: Sequence[ast.stmt]) -> str:
    """Return `get_inputs` and `get_init_inputs` for the arguments in a call of the model; empty without such a call."""
    scope = list(_flat(scope))
    made = {name: one for one in scope for name in _bound_name(one) if _construction(one)}
    for call in (n for one in scope for n in ast.walk(one) if isinstance(n, ast.Call)):
        construction = _construction(
            made.get(call.func.id) if isinstance(call.func, ast.Name) else call.func
        )
        if (
            isinstance(call.func, ast.Name | ast.Call)
            and construction
            and call.args
            and not (call.keywords or construction.keywords)
        ):
            return _write_makers(scope, call.args, construction.args)
    return ""


def _write_makers(
    scope: Sequence[ast.stmt], inputs: Sequence[ast.expr], init: Sequence[ast.expr]
) -> str:
    """Return the two functions: named numbers are defined before them, tensors are made inside."""
    names = set[str]().union(*map(names_used, (*inputs, *init)))
    lines = needed_statements(scope, names)
    calls = [one for one in lines if isinstance(one, ast.Assign) and _calls_something(one)]
    front = _unparse([one for one in lines if one not in calls])
    given, asked = (ast.List([*some], ast.Load()) for some in (inputs, init))
    made = "".join(f"    {line}\n" for line in _unparse(calls).splitlines())
    return f"{front}\ndef get_inputs():\n{made}    return {ast.unparse(given)}\ndef get_init_inputs():\n    return {ast.unparse(asked)}"


def _calls_something(one: ast.Assign) -> bool:
    return any(isinstance(node, ast.Call) for node in ast.walk(one.value))


def _construction(model: ast.AST | None) -> ast.Call | None:
    """Return the call that constructs the model in a part of a program: `ModelNew(64).cuda()`."""
    calls = (n for n in ast.walk(model or ast.Pass()) if isinstance(n, ast.Call))
    return next((n for n in calls if isinstance(n.func, ast.Name) and n.func.id == ANSWER), None)


def _bound_name(one: ast.stmt) -> list[str]:
    targets = one.targets if isinstance(one, ast.Assign) else ()
    return [target.id for target in targets if isinstance(target, ast.Name)]


def _unparse(body: Sequence[ast.stmt]) -> str:
    return "\n".join(map(ast.unparse, body))
