"""What an extension lacks of torch's inline functions, told from what it may lack."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from grader.build import on_demand
from grader.build.driver import halves
from grader.build.driver.config import Config
from grader.build.prepare import Prepared
from grader.build.toolchain import Toolchain

NOTE = """ld.lld: warning: undefined symbol: {}
>>> referenced by main.cpp
>>>               main.o:(PyInit_f)
"""


@pytest.mark.parametrize(
    "name",
    [
        "_ZN3c103strIA68_cJA26_cEEEDcDpRKT0_",
        "_ZNK2at6Tensor3sumEv",
        "_ZTVN5torch8autograd4NodeE",
        "_ZGVZN3c106detail3useEvE1x",
        "_ZNSt6vectorIlSaIlEE9push_backEOl",
        "_ZNKSs4sizeEv",
    ],
)
def test_an_inline_function_of_a_header_is_missed(name: str) -> None:
    assert halves.lacks(NOTE.format(name))


@pytest.mark.parametrize(
    "name",
    [
        "PyModule_Create2",
        "_Py_NoneStruct",
        "_Z7forwardN2at6TensorE",
        "_ZN2at4cuda20getCurrentCUDAStreamEa",
        "_ZN4mine3runEN2at6TensorE",
    ],
)
def test_what_others_define_is_not(name: str) -> None:
    assert not halves.lacks(NOTE.format(name))


def test_what_the_linker_was_asked_to_note_is_kept_out_of_the_log() -> None:
    said = NOTE.format("PyModule_Create2") + "ld.lld: warning: something else\n"
    assert halves.without_notes(said) == "ld.lld: warning: something else\n"


@pytest.fixture
def prepared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Prepared]:
    """A folder in which clang's work is done by a function of the test's."""

    def make(precompiled: tuple[str, ...], works: bool, calls: list[str]) -> Prepared:
        def precompile(_config: Config, name: str) -> bool:
            calls.append(name)
            return works

        monkeypatch.setattr(on_demand, "precompile", precompile)
        monkeypatch.setattr(on_demand, "configuration", lambda *_: None)
        tools = object.__new__(Toolchain)
        return Prepared(tmp_path, tools, precompiled, library=None, torch_library=None, seconds=0)

    return make


OLD = 'load_inline(extra_cflags=["-D_GLIBCXX_USE_CXX11_ABI=0"])'


def test_what_few_builds_need_is_made_once(prepared: Callable[..., Prepared]) -> None:
    calls: list[str] = []
    plain = prepared(("types", "main"), True, calls)
    assert on_demand.prepared_for(plain, "load_inline()") is plain
    for _ in range(2):
        assert on_demand.prepared_for(plain, OLD).precompiled == ("types", "main", "main_old_abi")
    assert calls == ["main_old_abi"]


def test_what_clang_can_not_make_is_asked_once(prepared: Callable[..., Prepared]) -> None:
    calls: list[str] = []
    plain = prepared(("types", "main"), False, calls)
    for _ in range(2):
        assert on_demand.prepared_for(plain, OLD) == plain
    assert calls == ["main_old_abi"]
    assert json.loads((plain.folder / "main_old_abi.json").read_text()) is False


def test_without_clang_nothing_is_made(prepared: Callable[..., Prepared]) -> None:
    calls: list[str] = []
    plain = prepared((), True, calls)
    assert on_demand.prepared_for(plain, OLD) is plain
    assert calls == []
