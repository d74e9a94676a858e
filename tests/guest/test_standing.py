"""Inputs of shapes that were there before get new values where they lie."""

from __future__ import annotations

import pytest
import torch

from grader.guest import tensors
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
    first.add_(1)  # as a task in place does
    (once_more,) = refilled.take([torch.zeros(3)])
    assert once_more is first
    assert once_more.tolist() == [0, 0, 0]


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


def test_an_input_whose_memory_grew_is_another_and_holds_no_result_of_its_own() -> None:
    given = torch.zeros(3)
    before = tensors.state(given)
    storage = given.untyped_storage()
    storage.resize_(24)
    beside = torch.empty(0).set_(storage, 3, (3,))
    assert tensors.state(given) != before
    inputs = [(0, given)]
    found = [
        (one.header["aliases"], one.is_view)
        for one in (tensors.capture(t, torch.Tensor.clone, inputs) for t in (beside, given[1:]))
    ]
    assert found == [(0, False), (0, True)]
    storage.resize_(12)
    with pytest.raises(TypeError, match="given back"):
        tensors.capture(beside, torch.Tensor.clone, inputs)
