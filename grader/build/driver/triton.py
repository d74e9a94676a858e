"""The driver in ptxas's place for Triton: on the simulator, Triton caches our program as its machine code.

Triton finds its assembler by an environment variable, hands it the PTX of one kernel, and keeps what comes
back in its cache. The real one is asked as well: its word on registers, and on what it refuses, is final. A block over
a whole row of 400000 elements is a text that it reads for seconds, and nothing runs what it makes of it: it isn't asked there.
"""

from __future__ import annotations

import os
import re
import struct
from pathlib import Path

from grader.build.driver.config import Config
from grader.build.driver.device_pass import with_functions
from grader.build.driver.tools import LOG, Outcome, run

LONGEST_ASKED = 256 << 10
"""Most characters of PTX that the real assembler checks where its machine code isn't run: at most two seconds."""
_REGISTERS_OF_A_BLOCK, _REGISTERS_OF_A_THREAD = 1 << 16, 255


def assemble(config: Config, tool: str, call: list[str]) -> int:
    """Run in this assembler's place; returns the exit status."""
    real = f"{config.triton_tools}/{tool}"
    sources = [word for word in call if word.endswith(".ptx")]
    if len(sources) != 1 or "-o" not in call:
        os.execv(real, [real, *call])  # noqa: S606 - a question is the real one's
    ptx = Path(sources[0]).read_text("utf-8", "replace")
    simulated = config.device != "cuda"
    if simulated and len(ptx) > LONGEST_ASKED:
        return _keep(ptx, call, _most_registers(ptx), 0)
    outcome = run([real, *call])
    _pass_output_on(outcome)
    if outcome.ok and simulated:
        return _keep(ptx, call, *_registers(outcome.text))
    return outcome.code


def _keep(ptx: str, call: list[str], registers: int, spills: int) -> int:
    used = struct.pack("<2I", registers, spills)
    Path(call[call.index("-o") + 1]).write_bytes(_program(ptx) + used)
    return 0


def _program(ptx: str) -> bytes:
    from grader.simulator.ptx import decode, encode

    return encode(decode(with_functions(ptx), "submission.py", of_blocks=True))


def _registers(said: str) -> tuple[int, int]:
    """Return a kernel's registers per thread and its spills, which Triton reports."""
    used = re.search(r"Used (\d+) registers", said)
    spilled = re.search(r"(\d+) bytes spill stores", said)
    return int(used[1]) if used else 0, int(spilled[1]) // 4 if spilled else 0


def _most_registers(ptx: str) -> int:
    """Return the most registers of a thread: a kernel of this length uses all."""
    threads = re.search(r"\.(?:max|req)ntid\s+(\d+)", ptx)
    return min(_REGISTERS_OF_A_THREAD, _REGISTERS_OF_A_BLOCK // int(threads[1]) if threads else 255)


def _pass_output_on(outcome: Outcome) -> None:
    """Write its output where Triton reads it, and into the log beside Triton's cache."""
    os.write(2, outcome.text.encode())
    folder = Path(os.environ.get("TRITON_CACHE_DIR", "."))
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / LOG).open("a", encoding="utf-8") as log:
        log.write(outcome.text)
