"""Whatever it is fed, the simulator refuses or runs: it never crashes the process."""

from __future__ import annotations

import contextlib
import ctypes
import os
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from grader.simulator.ptx import DecodeError, decode, encode

from .cases import FOLDER
from .harness import OptionWords, ResultWords, Simulator, compile_ptx, nvcc

CHILD = """
import random, sys, faulthandler
faulthandler.enable()
from pathlib import Path
import numpy as np
from tests.simulator.core.harness import Simulator
from tests.simulator.core.test_hostile import storm
storm(Simulator(Path({library!r})), {seed}, {rounds}, Path({ptx!r}).read_text())
"""


def mutated(blob: bytes, rng: random.Random) -> bytes:
    data = bytearray(blob)
    for _ in range(rng.choice((1, 1, 2, 5, 30))):
        at = rng.randrange(16, len(data) - 4) & ~3
        how = rng.randrange(4)
        if how == 0:
            data[at : at + 4] = rng.getrandbits(32).to_bytes(4, "little")
        elif how == 1:
            data[at] ^= 1 << rng.randrange(8)
        elif how == 2:
            other = rng.randrange(16, len(data) - 4) & ~3
            data[at : at + 4] = data[other : other + 4]
        else:
            data[at : at + 4] = rng.choice((0, 1, 2, 0xFFFFFFFF, 0x7FFFFFFF)).to_bytes(4, "little")
    return bytes(data)


def mutated_text(ptx: str, rng: random.Random) -> str:
    lines = ptx.split("\n")
    for _ in range(rng.choice((1, 3, 10))):
        at = rng.randrange(len(lines))
        how = rng.randrange(4)
        if how == 0:
            del lines[at]
        elif how == 1:
            lines[at] = lines[rng.randrange(len(lines))]
        elif how == 2:
            words = lines[at].split(" ")
            words[rng.randrange(len(words))] = rng.choice(
                (
                    "%r1",
                    "%rd2",
                    "%f3",
                    "%p1",
                    "0",
                    "-1",
                    "[%rd1+4]",
                    "{%r1,%r2}",
                    "99999999999",
                    "",
                    ";",
                    "}",
                    "{",
                )
            )
            lines[at] = " ".join(words)
        else:
            lines.insert(at, lines[rng.randrange(len(lines))])
    return "\n".join(lines)


def storm(simulator: Simulator, seed: int, rounds: int, ptx: str) -> None:
    """Feed wrong blobs and wrong texts; run whatever loads."""
    rng = random.Random(seed)
    blob = encode(decode(ptx))
    for turn in range(rounds):
        try:
            fed = mutated(blob, rng) if turn % 2 else encode(decode(mutated_text(ptx, rng)))
            module = simulator.load(fed)
        except (ValueError, DecodeError):
            continue
        for name in rng.sample(module.kernels(), min(3, len(module.kernels()))):
            run_anything(module, name)


def run_anything(module: object, name: str) -> None:
    lib, handle = module._lib, module._handle  # type: ignore[attr-defined]
    sizes = (ctypes.c_uint32 * 64)()
    n = lib.kgsim_kernel_params(handle, name.encode(errors="surrogateescape"), sizes, 64)
    buffer = np.zeros(4096, "f4")
    lib.kgsim_add_region(buffer.ctypes.data, buffer.nbytes, b"buffer", 0, 0, 1)
    keep = [
        ctypes.create_string_buffer(
            buffer.ctypes.data.to_bytes(8, "little") + bytes(max(sizes[k], 8)), max(sizes[k], 8) + 8
        )
        for k in range(max(n, 0))
    ]
    pointers = (ctypes.c_void_p * max(n, 1))(*[ctypes.addressof(b) for b in keep])
    grid, block = (ctypes.c_uint32 * 3)(2, 1, 1), (ctypes.c_uint32 * 3)(64, 1, 1)
    options, out = OptionWords(1, 2_000_000, 0, 1, 1, 1), ResultWords()
    lib.kgsim_reset_report()
    lib.kgsim_launch(
        handle, name.encode(errors="surrogateescape"), grid, block, 512, pointers, options, 5.0, out
    )
    lib.kgsim_report()
    lib.kgsim_free_region(buffer.ctypes.data)


@pytest.mark.skipif(nvcc() is None, reason="no nvcc on this machine")
@pytest.mark.parametrize("source", ["right_basic.cu", "right_warp.cu", "wrong_sync.cu"])
def test_storm(source: str, simulator: Simulator, tmp_path: Path) -> None:
    ptx = tmp_path / "k.ptx"
    ptx.write_text(compile_ptx(FOLDER / source))
    rounds = int(os.environ.get("KGSIM_STORM", "60"))
    code = CHILD.format(
        library=str(simulator.path),
        seed=rounds + len(source),
        rounds=rounds,
        ptx=str(ptx),
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[3])},
    )
    assert done.returncode == 0, done.stderr[-3000:]


@pytest.mark.parametrize("size", [0, 8, 16, 100])
def test_short_blobs(size: int, simulator: Simulator) -> None:
    blob = encode(
        decode(".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k() { ret; }")
    )
    with pytest.raises(ValueError, match="not a program"):
        simulator.load(blob[:size])


@pytest.mark.parametrize(
    "text",
    [
        "",
        "}",
        "{",
        ".entry",
        ".visible .entry k( { ret; }",
        ".global .b8 x[99999999999999];",
        "\x00" * 50,
    ],
)
def test_text_that_is_no_module(text: str, simulator: Simulator) -> None:
    with contextlib.suppress(DecodeError, ValueError):
        simulator.load_ptx(text)


UNKNOWN = """
.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 d) {
    .reg .b32 %r<3>;
    .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [d];
    mov.u32 %r1, %tid.x;
    unheard.of.u32 %r2, %r1;
    mad.wide.u32 %rd2, %r1, 4096, %rd1;
    st.global.u32 [%rd2], %r2;
    ret;
}
"""


def test_nothing_is_said_of_what_follows_an_unknown_instruction(simulator: Simulator) -> None:
    outcome = simulator.load_ptx(UNKNOWN).launch("k", 1, 64, np.zeros(64, np.uint32))
    assert outcome.status == "unsupported"
    assert "unheard.of.u32" in outcome.reason
    assert outcome.findings == []


@pytest.mark.parametrize("shape", ["m16", "m16n16", "m16n16k", "m16n0k16", "m16n16k99"])
def test_half_a_matrix_shape_is_none(shape: str, simulator: Simulator) -> None:
    text = (
        ".version 8.0\n.target sm_90\n.address_size 64\n"
        ".visible .entry k(.param .u64 d) { .reg .b64 %rd<2>; .reg .b32 %r<9>; ld.param.u64 %rd1, [d]; "
        f"wmma.load.c.sync.aligned.row.{shape}.global.f16 {{%r1,%r2,%r3,%r4}}, [%rd1]; ret; }}"
    )
    outcome = simulator.load_ptx(text).launch("k", 1, 32, np.zeros(512, np.uint32))
    assert outcome.status == "unsupported", outcome.reason


@pytest.mark.parametrize("access", ["ld.shared.f32 %f1, [%rd2];", "st.shared.f32 [%rd2], %f1;"])
@pytest.mark.parametrize("step", [4, 8])
def test_addresses_that_begin_before_0_are_outside(
    access: str, step: int, simulator: Simulator
) -> None:
    kernel = f"""
.version 8.0
.target sm_90
.address_size 64
.visible .entry below()
{{
    .reg .f32 %f<2>; .reg .b32 %r<2>; .reg .b64 %rd<3>;
    .shared .align 4 .b8 s[256];
    mov.f32 %f1, 0f3f800000;
    mov.u32 %r1, %tid.x;
    mul.wide.s32 %rd1, %r1, {step};
    add.s64 %rd2, %rd1, -64;
    {access}
    ret;
}}
"""
    result = simulator.load_ptx(kernel).launch("below", (1, 1, 1), (32, 1, 1))
    assert {kind for kind, _ in result.kinds()} == {"shared-out-of-bounds"}
