"""Programs written from references that a guest has traced: functions, sizes, changes in place, torch's own layers."""

from __future__ import annotations

import ast

import pytest

from grader import execution, sandbox
from grader.repair.compose import Graph, UncoveredError, compose, read_graph
from grader.repair.reference import compose_for_task
from grader.tasks import builtin_tasks

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


def traced(text: str) -> Graph:
    return read_graph(execution.trace(text, sandbox.strongest(), sandbox.Limits()))


def test_a_traced_reference_becomes_its_stages() -> None:
    graph = traced(REFERENCE)
    made = compose(REFERENCE, graph, "Layer", "ops")
    assert made.families == ("matmul", "elementwise", "reduction")
    tree = ast.parse(made.code)
    names = {n.name for n in tree.body if isinstance(n, ast.ClassDef | ast.FunctionDef)}
    assert names == {"ModelNew"}
    assert "super(ModelNew, self)" in made.code
    assert "SCALE = 2.0" in made.code
    # The bias, the subtraction, the activation and the factor are one kernel.
    assert made.code.count("__global__ void fused_kernel") == 1
    assert "self.fc.bias" in made.code
    assert "self.fc(" not in made.code


MADE_IN_FORWARD = """
import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.least = torch.nn.Parameter(torch.tensor(2.0))

    def forward(self, x):
        return torch.min(x, torch.tensor(0.5, device=x.device)) + self.least


def get_inputs():
    return [torch.rand(4, 8)]
"""


def test_a_tensor_that_forward_makes_of_a_number_keeps_its_value() -> None:
    graph = traced(MADE_IN_FORWARD)
    made = compose(MADE_IN_FORWARD, graph, "Least", "ops")
    assert made.families == ("elementwise",)
    assert "0.5f" in made.code
    assert "fused_minimum_add_forward(x, self.least)" in made.code


FUNCTIONAL = """
import math
import torch
import torch.nn.functional as F


def module_fn(x, weight, groups, eps):
    size = x.size(1) // groups
    return F.group_norm(x, groups, weight, None, eps) / math.sqrt(size)


class Model(torch.nn.Module):
    def __init__(self, features, groups):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(features))
        self.groups = groups
        self.layers = torch.nn.Sequential(torch.nn.ReLU(), torch.nn.Linear(5, 3, bias=False))

    def forward(self, x, fn=module_fn):
        y = fn(x, self.weight, self.groups, 1e-5)
        return self.layers(y)


def get_inputs():
    return [torch.rand(4, 8, 5)]


def get_init_inputs():
    return [8, 2]
"""


def test_a_function_among_the_arguments_is_looked_into_and_sizes_are_read_at_run_time() -> None:
    graph = traced(FUNCTIONAL)
    code = compose(FUNCTIONAL, graph, "Norm", "ops").code
    assert "def forward(self, x):" in code
    assert "module_fn" not in code
    assert "x.size(0) * self.groups" in code
    assert "x.size(1) // self.groups" in code
    assert "** 0.5" in code
    assert "self.layers[1].weight" in code
    ast.parse(code)


IN_PLACE = """
import torch


class Model(torch.nn.Module):
    def forward(self, x):
        y = x * 2.0
        BODY
        return y


def get_inputs():
    return [torch.rand(4, 8)]
"""


def test_a_change_in_place_is_what_is_used_from_then_on() -> None:
    graph = traced(IN_PLACE.replace("BODY", "y += x"))
    assert [n.op for n in graph.nodes] == ["placeholder", "mul", "add", "output"]


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("y[0] = x[0]", "writes into a part"),
        ("z = y.view(-1); z += 1.0", "in place under another name"),
        ("y = y + torch.ones(8).tolist()[0]", "meta"),
    ],
)
def test_what_cannot_be_traced_says_why(body: str, said: str) -> None:
    with pytest.raises(UncoveredError, match=said):
        traced(IN_PLACE.replace("BODY", body))


ATTENTION = """
import torch


class Model(torch.nn.Module):
    def __init__(self, features, heads):
        super().__init__()
        self.block = torch.nn.TransformerEncoderLayer(features, heads, 16, dropout=0.0)

    def forward(self, x):
        return self.block(x)[0]


def get_inputs():
    return [torch.rand(3, 2, 8)]


def get_init_inputs():
    return [8, 2]
"""


def test_a_layer_that_torch_makes_of_functions_is_written_out_as_these() -> None:
    made = compose(ATTENTION, traced(ATTENTION), "Block", "ops")
    assert {"attention", "matmul", "rows"} <= set(made.families)
    assert "self.block.self_attn.num_heads" in made.code
    assert "self.block(" not in made.code


HALF = """
import torch
import torch.nn.functional as F


class Model(torch.nn.Module):
    def forward(self, q, k, v):
        mask = torch.tril(torch.ones(q.size(1), q.size(1), device=q.device, dtype=torch.bool))
        scores = (q @ k.transpose(-2, -1)).masked_fill(~mask, float("-inf"))
        return F.softmax(scores, dim=-1) @ v


def get_inputs():
    return [torch.rand(2, 8, 4, dtype=torch.float16) for _ in range(3)]
"""


def test_half_precision_is_computed_in_float32_and_given_back_as_it_was_asked() -> None:
    code = compose(HALF, traced(HALF), "Masked", "ops").code
    assert "q = q.float()" in code
    assert "torch.tril(" in code
    assert "dtype=torch.bool" in code
    assert ".to(torch.float16)" in code


def test_a_built_in_task_without_a_family_gets_its_kernel_from_its_reference() -> None:
    task = builtin_tasks()["rms-norm-residual"]
    made = compose_for_task(task, sandbox.strongest())
    assert made.families == ("rows",)
    assert "get_inputs" not in made.code


def test_heads_that_share_keys_are_not_taken_for_heads_of_their_own() -> None:
    with pytest.raises(UncoveredError, match="share keys"):
        compose_for_task(builtin_tasks()["causal-attention"], sandbox.strongest())
