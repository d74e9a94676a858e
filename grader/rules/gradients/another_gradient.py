"""GRD002: a gradient is that of another input, the upstream gradient, or leaves that one out."""

from collections.abc import Iterator

from grader.records import Context, Evidence, Finding, OtherGradient
from grader.rules.rule import Example, Rule
from grader.source import Source
from grader.source.analysis.backward_code import where_gradients_are_made


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Report wrong gradients that are something else that is known."""
    node = where_gradients_are_made(source)
    place = source.place(node) if node is not None else None
    found: dict[tuple[str, str], list[Evidence]] = {}
    for item in context.seen("mismatch"):
        if isinstance(item.details, OtherGradient):
            found.setdefault((item.details.of, item.details.equals), []).append(item)
    refused = [item for item in context.evidence if REFUSED in item.said]
    if refused:
        yield RULE.finding(
            place,
            f"autograd refuses what backward returns: {refused[0].said.split(REFUSED)[-1].strip()}; it wants a gradient for "
            "each argument of forward, in their order and of their shapes",
            confidence="proven",
            evidence=refused,
        )
    for (of, equals), seen in found.items():
        yield RULE.finding(
            place, f"the gradient of {of} {_say_equal(equals)}", confidence="proven", evidence=seen
        )


def _say_equal(equals: str) -> str:
    if equals == "upstream":
        return "is the upstream gradient itself: it is handed on as it came"
    if equals == "no upstream":
        return "lacks the upstream gradient as a factor: it is right only where that is 1, as after `sum().backward()`"
    return f"is the {equals}: backward returns them in another order than forward takes its arguments, or computes one twice"


REFUSED = "returned an invalid gradient"
"""What autograd says of a gradient of another shape than its argument's."""
SWAPPED = Evidence(
    kind="mismatch",
    code="other-gradient",
    text="it is the gradient of input 2",
    details=OtherGradient(of="input 1", equals="gradient of input 2"),
)
PROGRAM = """import torch
from torch import nn
class Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return ops.product(a, b)
    @staticmethod
    def backward(ctx, grad):
        a, b = ctx.saved_tensors
        return ops.product(grad, a), ops.product(grad, b)
class ModelNew(nn.Module):
    def forward(self, a, b):
        return Product.apply(a, b)
"""
RULE = Rule(
    code="GRD002",
    name="another-gradient",
    summary="A gradient is that of another input, is the upstream gradient itself, or leaves the upstream gradient out.",
    why="`backward` returns one gradient for each argument of `forward`, in their order, and each is the product of the upstream gradient "
    "with the derivative. A test that ends in `sum().backward()` has an upstream gradient of ones, and does not see that it is missing.",
    bad=Example(PROGRAM, Context(evidence=(SWAPPED,))),
    good=PROGRAM,
    detects=("evidence",),
    guards="Only gradients that a run showed to be wrong, and equal to the other one in every element.",
    check=check,
)
