"""Inputs of shapes that were there before get new values where they lie."""

from __future__ import annotations

import torch

from grader.guest.placement import Placement
from grader.guest.refilled_inputs import RefilledInputs


class Copying(Placement):
    """A device whose tensors are others than the host's."""

    def to_device(self, tensor: torch.Tensor) -> torch.Tensor:
        return tensor.clone()


def test_the_same_tensor_holds_the_next_values_and_its_version_does_not_tell() -> None:
    refilled = RefilledInputs(Copying())
    (first,) = refilled.take([torch.zeros(3)])
    version, address = first._version, first.data_ptr()
    first._result = "of zeros"
    (second,) = refilled.take([torch.ones(3)])
    assert second is first
    assert second.tolist() == [1, 1, 1]
    assert (second._version, second.data_ptr()) == (version, address)


def test_equal_values_and_other_shapes_come_in_tensors_of_their_own() -> None:
    refilled = RefilledInputs(Copying())
    (first,) = refilled.take([torch.zeros(3)])
    (again,) = refilled.take([torch.zeros(3)])
    (other,) = refilled.take([torch.zeros(3, 1)])
    assert len({id(first), id(again), id(other)}) == 3


def test_an_input_that_a_result_shares_memory_with_is_left_alone() -> None:
    refilled = RefilledInputs(Copying())
    (first,) = refilled.take([torch.zeros(3)])
    refilled.release([torch.zeros(3)])
    (second,) = refilled.take([torch.ones(3)])
    assert second is not first
    assert first.tolist() == [0, 0, 0]


def test_an_input_that_was_made_another_is_not_refilled() -> None:
    refilled = RefilledInputs(Copying())
    (first,) = refilled.take([torch.zeros(3)])
    first.resize_(1)
    (second,) = refilled.take([torch.ones(3)])
    assert second.tolist() == [1, 1, 1]
    assert second is not first


def test_large_inputs_are_not_kept() -> None:
    refilled = RefilledInputs(Copying())
    large = torch.zeros(RefilledInputs.MOST // 4 + 1)
    (first,) = refilled.take([large])
    (second,) = refilled.take([large + 1])
    assert second is not first
