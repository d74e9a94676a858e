"""What stands in the place of Triton's assembler on the simulator."""

import struct
from dataclasses import fields
from pathlib import Path

import pytest

from grader.build.driver import triton
from grader.build.driver.config import Config

PTX = """.version 8.4
.target sm_89
.address_size 64
.visible .entry nothing() .reqntid 512
{
ret;
}
"""


def a_machine(folder: Path, device: str = "sim") -> Config:
    """Return a configuration whose real assembler refuses everything."""
    real = folder / "ptxas"
    real.write_text("#!/bin/sh\necho 'ptxas fatal: no' >&2\nexit 3\n")
    real.chmod(0o755)
    blank = {one.name: "" for one in fields(Config)}
    return Config(**{**blank, "device": device, "triton_tools": str(folder)})


def asked(ptx: str, folder: Path, device: str = "sim") -> int:
    (folder / "k.ptx").write_text(ptx)
    call = [str(folder / "k.ptx"), "-o", str(folder / "k.cubin")]
    return triton.assemble(a_machine(folder, device), "ptxas", call)


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "cache"))


def test_the_real_assembler_has_the_word_on_a_kernel(tmp_path: Path) -> None:
    assert asked(PTX, tmp_path) == 3


def test_a_kernel_of_a_quarter_megabyte_runs_without_being_asked_about(tmp_path: Path) -> None:
    long = PTX + "//" + "-" * triton.LONGEST_ASKED
    assert asked(long, tmp_path) == 0
    assert struct.unpack("<2I", (tmp_path / "k.cubin").read_bytes()[-8:]) == (128, 0)
    assert asked(long, tmp_path, "cuda") == 3
