"""Programs written from a traced reference: stages, fusion, and why there is none."""

from __future__ import annotations

import ast
from typing import Any

import pytest

from grader import judge, sandbox
from grader.repair.compose import UncoveredError, compose, read_graph

REFERENCE = '''
import torch
import torch.nn as nn

SCALE = 2.0


class Model(nn.Module):
    """A layer and what follows it."""

    def __init__(self, features):
        super(Model, self).__init__()
        self.fc = nn.Linear(features, 8)

    def forward(self, x):
        y = torch.relu(self.fc(x) - 1.5) * SCALE
        return torch.max(y, dim=1)[0]


def get_inputs():
    return [torch.rand(4, 16)]


def get_init_inputs():
    return [16]
'''


def node(
    name: str, kind: str, target: str, *args: Any, shape: Any = (4, 8), **more: Any
) -> dict[str, Any]:
    return {
        "name": name, "kind": kind, "target": target, "args": list(args), "kwargs": more.pop("kwargs", {}),
        "shape": None if shape is None else list(shape), "dtype": "float32", **more,
    }  # fmt: skip


def ref(name: str) -> dict[str, str]:
    return {"node": name}


X = node("x", "placeholder", "x")


def written(*nodes: dict[str, Any]) -> str:
    body = "def forward(self, x):\n        return x"
    text = f"import torch\n\nclass Model(torch.nn.Module):\n    {body}\n"
    last = node("output", "output", "output", ref(nodes[-1]["name"]))
    code = compose(text, read_graph({"nodes": [X, *nodes, last]}), "t", "ops").code
    ast.parse(code)
    return code


def test_a_traced_reference_becomes_its_stages() -> None:
    told = judge.trace(REFERENCE, sandbox.strongest(), sandbox.Limits())
    made = compose(REFERENCE, read_graph(told), "Layer", "ops")
    assert made.families == ("matmul", "elementwise", "reduction")
    tree = ast.parse(made.code)
    names = {n.name for n in tree.body if isinstance(n, ast.ClassDef | ast.FunctionDef)}
    assert names == {"ModelNew"}
    assert "super(ModelNew, self)" in made.code
    assert "SCALE = 2.0" in made.code
    # The bias, the subtraction, the activation and the factor are one kernel.
    assert made.code.count("__global__ void plain_kernel") == 1
    assert "self.fc.bias" in made.code
    assert "self.fc(" not in made.code


def test_an_argument_keeps_the_name_that_the_reference_gives_it() -> None:
    """torch.fx calls the node of an argument `A` `a`."""
    given = node("a", "placeholder", "A")
    last = node("output", "output", "output", ref("b"))
    text = "import torch\n\nclass Model(torch.nn.Module):\n    def forward(self, A):\n        return A\n"
    made = compose(
        text, read_graph({"nodes": [given, node("b", "call_function", "relu", ref("a")), last]}), "t", "ops"
    )  # fmt: skip
    assert "def forward(self, A):" in made.code
    assert "elementwise_1(A)" in made.code


def test_a_number_among_the_arguments_is_an_operand_too() -> None:
    given = [node("a", "placeholder", "A"), node("s", "placeholder", "s", shape=None)]
    product = node("b", "call_function", "mul", ref("a"), ref("s"))
    last = node("output", "output", "output", ref("b"))
    text = "import torch\n\nclass Model(torch.nn.Module):\n    def forward(self, A, s):\n        return A\n"
    made = compose(text, read_graph({"nodes": [*given, product, last]}), "t", "ops")
    assert "elementwise_1(A, A.new_full((), s))" in made.code


def test_elementwise_neighbours_share_a_kernel_unless_a_value_is_needed_twice() -> None:
    a = node("a", "call_function", "relu", ref("x"))
    b = node("b", "call_function", "tanh", ref("a"))
    assert written(a, b).count("float apply(") == 1
    c = node("c", "call_function", "softmax", ref("a"), kwargs={"dim": 1})
    d = node("d", "call_function", "add", ref("b"), ref("c"))
    assert written(a, b, c, d).count("float apply(") == 2


def test_sizes_are_read_at_run_time_where_they_follow_from_the_arguments() -> None:
    norm = node(
        "a", "call_module", "ln", ref("x"), module="LayerNorm", attributes={"normalized_shape": [8]}
    )
    assert "x.numel() // torch.Size(self.ln.normalized_shape).numel()" in written(norm)
    depthwise = {"stride": 1, "padding": 1, "dilation": 1, "groups": 64}
    conv = node(
        "a",
        "call_module",
        "dw",
        ref("x"),
        shape=(2, 64, 8, 8),
        module="Conv2d",
        attributes=depthwise,
    )
    assert "self.dw.groups)" in written(
        node("x2", "call_function", "relu", ref("x"), shape=(2, 64, 8, 8)),
        conv | {"args": [ref("x2")]},
    )
    loss = node(
        "a",
        "call_function",
        "kl_div",
        ref("x"),
        ref("x"),
        shape=(),
        kwargs={"reduction": "batchmean"},
    )
    assert "4.0f" not in written(loss)


def test_a_linear_function_with_a_bias_is_a_product_and_a_sum() -> None:
    w = node("w", "get_attr", "w", shape=(5, 8))
    b = node("b", "get_attr", "b", shape=(5,))
    made = node("a", "call_function", "linear", ref("x"), ref("w"), ref("b"), shape=(4, 5))
    assert "elementwise_1(a_s1, self.b)" in written(w, b, made)


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (node("a", "call_module", "drop", ref("x"), module="Dropout", attributes={"p": 0.5, "training": True}), "random"),
        (node("a", "call_function", "fft_rfft", ref("x")), "no family for fft_rfft"),
        (node("a", "call_module", "c", ref("x"), shape=(1, 2, 3, 3), module="Conv2d", attributes={"padding_mode": "reflect"}), "padding"),
        (node("a", "call_function", "tril", ref("x")), "something else than a product"),
    ],
)  # fmt: skip
def test_what_is_not_covered_says_why(made: dict[str, Any], said: str) -> None:
    with pytest.raises(UncoveredError, match=said):
        written(made)


@pytest.mark.parametrize(
    "told",
    [
        None,
        {"error": "ValueError: no"},
        {"nodes": [{}]},
        {"nodes": [node("x; import os", "placeholder", "x")]},
        {"nodes": [node("a", "get_attr", "fc.weight);import os;(")]},
        {"nodes": [node("a", "call_function", "relu", ref("nobody"))]},
    ],
)
def test_a_graph_that_makes_no_sense_is_refused(told: Any) -> None:
    with pytest.raises(UncoveredError):
        read_graph(told)
