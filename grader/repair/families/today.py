"""Kernels for numbers of few bits and for what serves a language model."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from grader.records import Task
from grader.repair.families.family import Family, Text, element

QUANTISED: Mapping[str, Mapping[str, object]] = {
    "int8": {"fp8": "", "most": "127.0f", "cell": "int8_t", "dtype": "torch::kInt8"},
    "fp8": {"fp8": "__NV_E4M3", "most": "448.0f", "cell": "uint8_t", "dtype": "torch::kFloat8_e4m3fn"},
    "fp8-e5m2": {"fp8": "__NV_E5M2", "most": "57344.0f", "cell": "uint8_t", "dtype": "torch::kFloat8_e5m2"},
}  # fmt: skip
"""By the task's type: how a number is converted, the largest, and the types in C++ and torch."""


def _forward(arguments: str, init: str = "", kind: str = "") -> str:
    """Return the methods of a module that hands its arguments, and the one of its constructor, to the kernel."""
    typed = ", ".join(f"{name}: torch.Tensor" for name in arguments.split(", "))
    made = (
        f"def __init__(self, {init}: {kind}):\n    super().__init__()\n    self.{init} = {init}\n\n"
    )
    own = f", self.{init}" if init else ""
    return (
        f"{made if init else ''}def forward(self, {typed}) -> torch.Tensor:\n"
        f"    return EXTENSION.FUNCTION({arguments}{own})\n"
    )


def _quantise(task: Task) -> Text:
    body = """\
def forward(self, x: torch.Tensor):
    scales = x.new_empty(len(x))
    q = EXTENSION.FUNCTION(x, scales)  # fills the scales too
    return q, scales
"""
    idea = "One block for each row: its largest size gives the scale, and each value is divided and rounded."
    return Text("quantise", idea, body, QUANTISED[str(task.parameters["type"])])


def _for_type(template: str, idea: str, arguments: str) -> Callable[[Task], Text]:
    """Return what writes a kernel for the type that the task is asked in."""
    body = _forward(arguments)
    return lambda task: Text(template, idea, body, element(task))


def _alike(template: str, idea: str, body: str) -> Callable[[Task], Text]:
    return lambda _task: Text(template, idea, body)


FAMILIES = (
    Family("quantise", _quantise),
    Family("mxfp4", _alike("mxfp4", "One thread for each byte: two numbers, times a power of two.", _forward("blocks, scales"))),
    Family("matmul-w4a16", _alike("matmul_w4a16", "A warp for each result; weights are unpacked where they are used, sums kept in float.", _forward("x, packed, scales", "group", "int"))),
    Family("matmul-fp8", _alike("matmul_fp8", "A warp for each result; each product takes the scales of its block, sums are kept in float.", _forward("a, w, scale_a, scale_w"))),
    Family("paged-attention", _for_type("paged_attention", "One block for each head of each sequence; a key's page is looked up in the table.", "q, keys, values, table, lengths")),
    Family("moe-matmul", _for_type("moe_matmul", "One thread for each result goes through the token's experts.", "x, experts, weights, w")),
    Family("top-p", _alike("top_p", "One block for each row; bounds are found bit by bit, so that nothing is sorted.", _forward("logits, u", "p", "float"))),
    Family("nms", _alike("nms", "Pairs of boxes all at once; then one block goes through the boxes in the order of their scores.", _forward("corners, sizes, scores", "threshold", "float"))),
)  # fmt: skip
