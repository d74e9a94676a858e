"""What a line touched of a tensor, by what the simulator counts: each access by its own width."""

from __future__ import annotations

import pytest
import torch

from grader.guest import provenance


@pytest.mark.parametrize(
    ("dtype", "width", "touched", "elements"),
    [
        (torch.bfloat16, 4, [0, 2], [0, 1, 4, 5]),  # a pair in each access
        (torch.float32, 4, [0, 2], [0, 2]),
        (torch.float64, 4, [2, 3], [1]),
    ],
)
def test_an_access_covers_all_elements_of_its_width(
    dtype: torch.dtype,
    width: int,
    touched: list[int],
    elements: list[int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tensor = torch.zeros(8, dtype=dtype)
    counted = torch.zeros(32, dtype=torch.bool)
    counted[touched] = True
    monkeypatch.setattr(provenance, "_touched_elements", lambda *_: counted)
    access = {"base": tensor.data_ptr(), "size": tensor.nbytes, "width": width}
    mask = provenance._mask(None, 0, access, tensor)
    assert mask is not None
    assert mask.nonzero().flatten().tolist() == elements
