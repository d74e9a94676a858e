"""What else a machine does is not charged to a submission."""

import os

import pytest

from grader.sandbox.limits import PATIENCE, crowding


@pytest.mark.parametrize(
    ("load", "cores", "longer"), [(0.1, 2, 1.0), (2.0, 2, 1.0), (6.0, 2, 3.0), (900.0, 2, PATIENCE)]
)
def test_limits_grow_with_the_load_for_each_core(
    load: float, cores: int, longer: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "getloadavg", lambda: (load, 0.0, 0.0))
    monkeypatch.setattr(os, "cpu_count", lambda: cores)
    assert crowding() == longer
