"""What may be compiled anew in a changed call."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

from grader.guest.compile_bound import LARGER, CompileBound


def test_much_larger_blocks_than_the_unchanged_call_had_are_not_compiled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    runtime = SimpleNamespace(jit_cache_hook=None)
    monkeypatch.setitem(sys.modules, "triton", SimpleNamespace(knobs=SimpleNamespace(runtime=runtime)))  # fmt: skip
    bound = CompileBound()

    def refused(block: int) -> bool:
        """Whether Triton leaves a kernel of this block out: it asks by keywords, and gives more than is looked at."""
        return bool(runtime.jit_cache_hook(key="", compile={"constants": {(1,): block, (2,): None}}))  # fmt: skip

    assert not refused(1024)
    bound.closed = True
    assert not refused(1024 * LARGER)
    assert refused(1 << 20)
