"""References whose class has a name of its own, as in KernelBook, and answers that are called after it."""

from __future__ import annotations

import pytest

from grader.ingest import extract
from grader.ingest.completions import read_record
from grader.ingest.own_class import as_model, in_order
from grader.records import Sample
from grader.tasks import from_reference

REFERENCE = """import torch
import torch.nn as nn

class Half(nn.Module):
    def forward(self, x):
        return x / 2

class Shifted(nn.Module):
    def __init__(self, channels, scale=2.0, *, eps=0.0):
        super(Shifted, self).__init__()
        self.half = Half()
        self.proj = nn.Linear(channels, channels)

    def forward(self, x):
        return self.proj(self.half(x))

def get_inputs():
    return [torch.rand(4, 8)]

def get_init_inputs():
    return [[], {'channels': 8}]
"""
KERNEL = """import torch
import triton
import triton.language as tl

@triton.jit
def shifted_kernel(x, w, b, y, C: tl.constexpr):
    tl.store(y + tl.program_id(0), tl.load(x))

"""
CLASS = (
    KERNEL
    + "class ShiftedNew(torch.nn.Module):\n    def forward(self, x):\n        shifted_kernel[(1,)](x)\n"
)
FUNCTION = (
    KERNEL
    + """def triton_kernel_wrapper(x, proj_weight, proj_bias, scale=2.0):
    y = torch.empty_like(x)
    shifted_kernel[(4,)](x, proj_weight, proj_bias, y, C=8)
    return y
"""
)


def sample_of(answer: str) -> Sample:
    """Return the sample that a record of a training set gives."""
    fields = {"python_code": REFERENCE, "triton_code": answer, "entry_point": "Shifted"}
    record = read_record(fields)
    assert record is not None
    return Sample(id="a", origin="a", format="jsonl", text=record.texts[0], prompt=record.prompt)


@pytest.mark.parametrize("answer", [CLASS, FUNCTION])
def test_a_record_of_a_training_set_is_an_answer_to_its_reference(answer: str) -> None:
    found = extract(sample_of(answer))
    assert found.submission is not None
    assert "class ModelNew(" in found.submission.code
    task = from_reference(found.reference or "")
    assert task is not None
    assert "class Model(nn.Module)" in task.reference
    assert "return [8]" in task.reference


def test_a_function_that_asks_for_weights_gets_them_by_name() -> None:
    found = extract(sample_of(FUNCTION))
    assert found.submission is not None
    space: dict[str, object] = {}
    called = found.submission.code.partition("_answer = ")[2].partition("\n")[2]
    torch = pytest.importorskip("torch")
    space |= {"torch": torch, "nn": torch.nn}
    space["_answer"] = lambda x, proj_weight, proj_bias, scale: (proj_weight, proj_bias, scale)
    exec(called, space)
    made = space["ModelNew"](8, 3.0)  # type: ignore[operator]
    weight, bias, scale = made(torch.ones(4, 8))
    assert weight is made.proj.weight
    assert bias is made.proj.bias
    assert scale == 3.0


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("[[], {'channels': 8}]", "[8]"),
        ("[[8], {}]", "[8]"),
        ("[[8], {'scale': 1.5}]", "[8, 1.5]"),
        ("[[], {'scale': 1.5, 'channels': 8}]", "[8, 1.5]"),
        ("[[], {'channels': 8, 'eps': 1.0}]", "[[], {'channels': 8, 'eps': 1.0}]"),
        ("[[], {'scale': 1.5}]", "[[], {'scale': 1.5}]"),
        ("[8, 2.0]", "[8, 2.0]"),
    ],
)
def test_arguments_by_name_are_put_in_order(given: str, kept: str) -> None:
    made = as_model(REFERENCE.replace("[[], {'channels': 8}]", given))
    assert made is not None
    assert made.name == "Shifted"
    assert f"return {kept}\n" in made.text


def test_a_reference_in_kernelbenchs_manner_stays_as_it_is() -> None:
    assert as_model(REFERENCE.replace("Shifted", "Model")) is None


def test_classes_that_inherit_from_each_other_are_no_modules() -> None:
    """What a record holds may be anything; Python itself would refuse these."""
    text = "class A(B): pass\nclass B(A): pass\ndef get_inputs(): return []\n"
    assert as_model(text) is None


def test_arguments_whose_names_are_computed_are_left_as_they_are() -> None:
    text = REFERENCE_OF_COMPUTED_NAMES
    assert in_order(text, "Mask") == text


REFERENCE_OF_COMPUTED_NAMES = """
class Mask(nn.Module):
    def __init__(self, dim): pass
def get_init_inputs():
    return [[], {name(): 4}]
"""
