"""What is said of how a run ended."""

from __future__ import annotations

import pytest

from grader.devices.outcome import _lacks, brief

WRONG_CALL = """TypeError: f(): incompatible function arguments. The following argument types are supported:
    1. (arg0: torch.Tensor, arg1: torch.Tensor, arg2: int) -> torch.Tensor

Invoked with: tensor([[0.1, 0.2],
        [0.3, 0.4]],
       device='cuda:0'), Parameter containing:
tensor([1., 2.], device='cuda:0',
       requires_grad=True), None, 3"""


def test_a_wrong_call_is_told_without_the_values_of_its_tensors():
    assert brief(WRONG_CALL) == (
        "TypeError: f(): incompatible function arguments. The following argument types are "
        "supported: 1. (arg0: torch.Tensor, arg1: torch.Tensor, arg2: int) -> torch.Tensor "
        "Invoked with: tensor, tensor, None, 3"
    )


def test_any_other_text_stays_as_it_is():
    assert brief("RuntimeError: a\n b tensor(1)") == "RuntimeError: a\n b tensor(1)"


@pytest.mark.parametrize(
    ("reason", "lacks"),
    [
        (
            "NotImplementedError: Could not run 'aten::add' with arguments from the 'SparseCUDA' backend.",
            "aten::add of sparse tensors",
        ),
        (
            "NotImplementedError: Could not run 'aten::add' with arguments from the 'CPU' backend.",
            "",
        ),
        ("NotImplementedError", ""),
        (
            "RuntimeError: built without USE_CUDA",
            "a call that reached CUDA's own libraries, which look for a driver",
        ),
    ],
)
def test_kinds_of_tensors_that_the_simulator_has_not_got_are_no_crash(reason: str, lacks: str):
    assert _lacks(reason) == lacks
