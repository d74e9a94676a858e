"""GRD001: autograd gets no gradient by what was asked."""

from collections.abc import Iterator

from grader.records import Context, Evidence, Finding, MissingGradient
from grader.rules.rule import Example, Rule
from grader.source import Source
from grader.source.analysis.backward_code import backwards, where_gradients_are_made


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Report gradients that were asked and did not come."""
    seen = [e for e in context.seen("mismatch") if isinstance(e.details, MissingGradient)]
    for first in seen[:1]:
        node = where_gradients_are_made(source)
        place = source.place(node) if node is not None else None
        said = first.text
        if any(backwards(source)) and isinstance(first.details, MissingGradient):
            said = f"no gradient of {first.details.of} came: backward gives none for it, or it is no argument of the function's call"
        yield RULE.finding(place, said, confidence="proven", evidence=seen)


MISSING = Evidence(
    kind="mismatch",
    code="count",
    text="no gradient came",
    details=MissingGradient(of="input 1", all=True),
)
PROGRAM = """import torch
from torch import nn
class ModelNew(nn.Module):
    def forward(self, x):
        return ops.relu(x)
"""
RULE = Rule(
    code="GRD001",
    name="no-gradient-comes",
    summary="The result has no gradient by an input or a parameter that training needs one by.",
    why="Autograd sees nothing of a kernel: its result is a tensor without a graph, and `loss.backward()` fails or leaves "
    "`grad` empty. A kernel has a gradient through a `torch.autograd.Function` whose `backward` returns one for each argument of its `forward`, "
    "parameters included; what `backward` returns None for gets none.",
    bad=Example(PROGRAM, Context(evidence=(MISSING,))),
    good=PROGRAM,
    detects=("evidence",),
    guards="Only where the task asks for gradients; an input that takes no part in the result needs none.",
    check=check,
    explained_by=("GRD002",),
)
