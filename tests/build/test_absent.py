"""What a library lacks is said by the call; what the program or the simulator has stays theirs."""

from __future__ import annotations

import ctypes
import subprocess
from dataclasses import fields
from pathlib import Path
from typing import Any

from grader.build import discover
from grader.build.driver.absent import stand_ins
from grader.build.driver.config import Config

PROGRAM = """
#include <stdexcept>
#include <string>
extern "C" int cudnnCreate(void **);
extern "C" int cublasCreate_v2(void **);
extern "C" int cufftOwn(int x) { return x + 1; }
extern "C" int with_own() { return cufftOwn(1); }
extern "C" int with_library() { void *handle; return cublasCreate_v2(&handle); }
extern "C" int said() {
  void *handle;
  try { cudnnCreate(&handle); } catch (const std::runtime_error &e) { return std::string(e.what()) == "undefined symbol: cudnnCreate"; }
  return -1;
}
"""


def _compile(text: str, made: Path, *flags: str) -> str:
    source = made.with_suffix(".cpp")
    source.write_text(text)
    subprocess.run([str(discover().gxx), "-fPIC", *flags, str(source), "-o", str(made)], check=True)
    return str(made)


def test_only_what_nobody_has_is_absent(tmp_path: Path) -> None:
    library = _compile(
        'extern "C" int cublasCreate_v2(void **) { return 7; }', tmp_path / "libsim.so", "-shared"
    )
    program = _compile(PROGRAM, tmp_path / "program.o", "-c")
    plain: dict[str, Any] = {field.name: [] for field in fields(Config)}
    config = Config(**{**plain, "gxx": str(discover().gxx), "libraries": [library]})
    more = stand_ins(config, [program], tmp_path)
    extension = str(tmp_path / "extension.so")
    linked = [str(discover().gxx), "-shared", program, *more, library, "-o", extension]
    subprocess.run([*linked, f"-Wl,-rpath,{tmp_path}"], check=True)
    loaded = ctypes.CDLL(extension)
    assert (loaded.with_own(), loaded.with_library(), loaded.said()) == (2, 7, 1)
    assert not stand_ins(config, [_compile("int x;", tmp_path / "other.o", "-c")], tmp_path)
