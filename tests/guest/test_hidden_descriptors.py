"""The channel's descriptors are moved away, within what the machine allows."""

from __future__ import annotations

import os
import resource

import pytest

from grader.guest.main import hide


@pytest.mark.parametrize("soft", [64, 256, 1024, resource.RLIM_INFINITY])
def test_a_descriptor_is_moved_below_the_machines_limit(
    soft: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (soft, soft))
    reader, writer = os.pipe()
    moved = hide(reader)
    try:
        assert 24 <= moved < (900 if soft > 1000 or soft < 0 else soft)
        os.write(writer, b"x")
        assert os.read(moved, 1) == b"x"
        assert not os.get_inheritable(moved)
    finally:
        os.close(moved)
        os.close(writer)
