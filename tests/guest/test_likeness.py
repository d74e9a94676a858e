"""What the values of an input are like: each case is a kind that independent random numbers don't stand for."""

from __future__ import annotations

from types import ModuleType

import pytest

torch = pytest.importorskip("torch")
from grader.guest.describe import describe  # noqa: E402
from grader.guest.likeness import summary  # noqa: E402

torch.manual_seed(1)
INF = float("inf")
LABELS = torch.randint(0, 50, (4, 33))
IGNORED = LABELS.where(torch.arange(33) < 25, -100)
SQUARE = torch.ones(20, 20)
KEPT = (torch.arange(30) < torch.tensor([[30], [12], [7], [22]])).int()
FILLERS = [
    ("labels to ignore", IGNORED, (-100, "tail")),
    ("one label to ignore here and there", LABELS.where(LABELS % 3 != 0, -1), (-1, "anywhere")),
    ("causal mask", torch.full((20, 20), -INF).triu(1), (-INF, "strictly-upper")),
    ("what is seen", SQUARE.tril().bool(), (0, "strictly-upper")),
    ("what is hidden", SQUARE.triu(1).bool(), (0, "lower")),
    ("padding of keys", torch.where(KEPT > 0, 0.0, -1e9), (-1e9, "tail")),
    ("kept keys", KEPT, (0, "tail")),
    ("zeros behind a ReLU", torch.randn(40, 40).relu(), (0, "anywhere")),
    ("labels", LABELS, None),
    ("bytes", torch.randint(-128, 128, (90,)), None),
    ("signs", torch.randint(0, 2, (90,)) * 2.0 - 1, None),
    ("bits", torch.randint(0, 2, (9, 40)), None),
    ("real numbers", torch.randn(40, 40), None),
    ("half precision", torch.rand(40, 40).half(), None),
]
SERIES = [
    ("offsets", torch.tensor([0, 5, 13, 14, 30]), "increasing"),
    ("ids of segments", torch.tensor([0, 0, 1, 2, 2]), "ascending"),
    ("positions", torch.arange(9), "range"),
    ("order", torch.stack([torch.randperm(9) for _ in range(3)]), "permutation"),
    ("labels", LABELS, ""),
]
STEPS = [
    ("quarters", torch.randint(0, 40, (300,)) / 4, 0.25),
    ("whole numbers", torch.randint(-9, 9, (300,)).float(), 1.0),
    ("large whole numbers", torch.randint(0, 10**6, (300,)).float(), 1.0),
    ("uniform", torch.rand(300), 0.0),
    ("half precision", torch.randn(3000).half(), 0.0),
    ("bfloat16", torch.randn(3000).bfloat16(), 0.0),
]


@pytest.mark.parametrize(("name", "tensor", "wanted"), FILLERS)
def test_a_value_in_the_place_of_others(name, tensor, wanted):
    found = summary(tensor)
    assert ((found["filler"], found["place"]) if "filler" in found else None) == wanted, name


@pytest.mark.parametrize(("name", "tensor", "wanted"), SERIES)
def test_what_holds_along_a_row_of_integers(name, tensor, wanted):
    assert summary(tensor)["series"] == wanted, name


@pytest.mark.parametrize(("name", "tensor", "wanted"), STEPS)
def test_real_numbers_that_are_multiples_of_a_step(name, tensor, wanted):
    assert summary(tensor)["step"] == wanted, name


SIGNS = """
import torch
from grader.guest.describe import describe
def get_inputs():
    return [torch.rand({rows}, {columns}), torch.randint(0, 2, ({rows},)).float() * 2 - 1]
"""


def test_labels_of_a_batch_of_one_do_not_say_what_labels_are_like() -> None:
    module = ModuleType("problem")
    vars(module)["Model"] = lambda: lambda x, labels: x.mean() * labels
    texts = [SIGNS.format(rows=64, columns=8), SIGNS.format(rows=1, columns=4096)]
    options = {
        "full": texts[0],
        "chains": [[text] for text in texts],
        "kinds": ["all", "all"],
        "most": {"size": 1 << 20, "elements": 1 << 20, "flops": 1 << 20},
        "weights": 1 << 20,
        "seconds": 20.0,
    }
    _, labels = describe(module, options)["values"]
    assert labels["distinct"] == [-1.0, 1.0]
