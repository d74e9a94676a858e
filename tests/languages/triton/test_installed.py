"""What a machine without a fitting Triton says of an answer: nothing against it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from grader.languages import say_what_lacks
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
    monkeypatch.setattr(installed, "installed_version", lambda: None)
    found = graded(RELU + "\n# nowhere else\n")
    assert found.verdict.status == "not_run"
    assert 'pip install "kernel-grader[triton]"' in found.verdict.sentence


@pytest.mark.parametrize(("version", "missing"), [((3, 8), False), ((3, 9), True)])
def test_what_a_version_removed_is_no_fault_of_the_answer(
    monkeypatch: pytest.MonkeyPatch, version: tuple[int, int], missing: bool
) -> None:
    monkeypatch.setattr(installed, "installed_version", lambda: version)
    assert bool(say_what_lacks(parse(POINTERS), "sim")) is missing
    assert not say_what_lacks(parse(RELU), "sim")


def test_a_triton_too_old_for_the_simulator_is_said_and_is_none_on_a_gpu(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(installed, "installed_version", lambda: (3, 2))
    assert "from 3.3 on, here is 3.2" in say_what_lacks(parse(RELU), "sim")
    assert not say_what_lacks(parse(RELU), "cuda")


def test_triton_is_known_by_its_package_whichever_distribution_brought_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "triton"
    package.mkdir()
    (package / "__init__.py").write_text("__version__ = '3.5.0+git1234'\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "triton", raising=False)
    assert installed.installed_version() == (3, 5)
