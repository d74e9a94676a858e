"""What a machine without a fitting Triton says of an answer: nothing against it."""

from __future__ import annotations

import pytest

from grader.languages import lacking
from grader.languages.triton import installed
from grader.source import parse
from tests.languages.triton.conftest import Graded
from tests.languages.triton.programs import RELU

POINTERS = RELU.replace(
    "    x = tl.load(",
    "    p = tl.make_block_ptr(x_ptr, (n,), (1,), (0,), (BLOCK,), (0,))\n    x = tl.load(",
)


def test_without_triton_it_is_not_run_and_the_command_is_said(
    graded: Graded, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(installed, "installed", lambda: None)
    found = graded(RELU + "\n# nowhere else\n")
    assert found.verdict.status == "not_run"
    assert 'pip install "kernel-grader[triton]"' in found.verdict.sentence


@pytest.mark.parametrize(("version", "missing"), [((3, 8), False), ((3, 9), True)])
def test_what_a_version_removed_is_no_fault_of_the_answer(
    monkeypatch: pytest.MonkeyPatch, version: tuple[int, int], missing: bool
) -> None:
    monkeypatch.setattr(installed, "installed", lambda: version)
    assert bool(lacking(parse(POINTERS))) is missing
    assert not lacking(parse(RELU))
