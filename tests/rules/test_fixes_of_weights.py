"""What rules propose for weights that an answer makes itself, and for products of too few digits."""

from __future__ import annotations

from typing import Any

import torch

from grader.records import Context, Evidence, Task
from grader.source import parse
from grader.source.edits import apply
from tests.rules.reviews import detected_with_fixes


def fixed(rule: str, code: str, context: Context | None = None, at: int = 0) -> dict[str, Any]:
    """Return what a program defines after a fix of a rule."""
    (finding, *_) = detected_with_fixes(rule, parse(code), context or Context())
    names: dict[str, Any] = {}
    exec(apply(code, finding.fixes[at].edits), names)
    return names


REFERENCE = '''
import torch
import torch.nn as nn
from torch.nn import functional as F


class Model(nn.Module):
    """Two layers."""

    def __init__(self, i, sizes):
        super(Model, self).__init__()
        made = []
        for o in sizes:
            made.append(nn.Linear(i, o))
            i = o
        self.network = nn.Sequential(*made)

    def forward(self, x):
        return F.relu(self.network(x))
'''
OWN = '''
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, first, widths):
        """Make the weights, each transposed."""
        super().__init__()
        self.weights, self.biases = nn.ParameterList(), nn.ParameterList()
        for width in widths:
            self.weights.append(nn.Parameter(torch.randn(first, width)))
            self.biases.append(nn.Parameter(torch.randn(width)))
            first = width

    def forward(self, x):
        for weight, bias in zip(self.weights, self.biases):
            x = x @ weight + bias
        return torch.relu(x)
'''


OTHER_ORDER = """
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.second = nn.Linear(o, o)
        self.first = nn.Linear(i, o)
        self.state = torch.randn(o)

    def forward(self, x):
        return self.second(self.first(x)) + self.state
"""


def test_weights_in_another_order_are_taken_over_by_name() -> None:
    reference = OTHER_ORDER.replace("ModelNew", "Model").replace(
        "torch.randn(o)", "torch.randn(SIZE)"
    )
    reference = reference.replace("import torch\n", "import torch\nSIZE = 3\n", 1)
    second = "        self.second = nn.Linear(o, o)\n"
    reference = reference.replace(second, "").replace(
        "    def forward", f"{second}\n    def forward"
    )
    assert_taken_over(OTHER_ORDER, reference, (4, 3), 4)


def test_weights_are_taken_over_from_the_references_layers() -> None:
    assert_taken_over(OWN, REFERENCE, (5, (7, 7, 4)), 5)
    assert_taken_over(OWN, REFERENCE, (4, (8, 8, 4)), 4)
    assert_taken_over(OWN, REFERENCE, (4, (4, 4)), 4)


def assert_taken_over(code: str, reference: str, settings: tuple[Any, ...], width: int) -> None:
    item = Evidence(kind="mismatch", code="own-weights", text="wrong with its own weights")
    task = Task(name="t", title="t", source="file", reference=reference, workloads=())
    found = detected_with_fixes("NUM006", parse(code), Context(evidence=(item,), task=task))
    [fix, *_] = [
        one for finding in found for one in finding.fixes if "take the weights" in one.label
    ]
    made: dict[str, Any] = {}
    exec(apply(code, fix.edits), made)
    names: dict[str, Any] = {}
    exec(reference, names)
    x = torch.rand(3, width)
    torch.manual_seed(7)
    expected = names["Model"](*settings)(x)
    torch.manual_seed(7)
    assert torch.allclose(made["ModelNew"](*settings)(x), expected, atol=1e-6)


RECURRENT = """
import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, size, layers):
        super().__init__()
        self.gru = nn.GRU(size, size, layers)

    def forward(self, x):
        return self.gru(x)[0]
"""
LISTS = """
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, size, layers):
        super().__init__()
        self.weight_ih_l = nn.ParameterList(torch.rand(3 * size, size) for _ in range(layers))
        self.weight_hh_l = nn.ParameterList(torch.rand(3 * size, size) for _ in range(layers))
        self.bias_ih_l = nn.ParameterList(torch.rand(3 * size) for _ in range(layers))
        self.bias_hh_l = nn.ParameterList(torch.rand(3 * size) for _ in range(layers))

    def forward(self, x):
        x, start = x.unsqueeze(1), torch.zeros(1, 1, x.shape[1])
        for of_layer in zip(self.weight_ih_l, self.weight_hh_l, self.bias_ih_l, self.bias_hh_l):
            x = torch.gru(x, start, of_layer, True, 1, 0.0, False, False, False)[0]
        return x.squeeze(1)
"""


def test_lists_of_a_recurrent_layers_weights_are_taken_over_by_the_ends_of_their_names() -> None:
    assert_taken_over(LISTS, RECURRENT, (4, 3), 4)
