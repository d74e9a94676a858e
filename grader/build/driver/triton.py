"""ptxas's place in Triton: for the simulator, what Triton keeps as machine code is our program.

Triton finds its assembler by an environment variable, hands it the PTX of one kernel, and keeps what comes
back in its cache. The real one is asked as well: its word on registers, and on what it refuses, is final.
"""

from __future__ import annotations

import os
import re
import struct
from pathlib import Path

from grader.build.driver.config import Config
from grader.build.driver.tools import LOG, Outcome, run


def assemble(config: Config, tool: str, call: list[str]) -> int:
    """Do what this assembler would do; returns the exit status."""
    real = f"{config.triton_tools}/{tool}"
    sources = [word for word in call if word.endswith(".ptx")]
    if len(sources) != 1 or "-o" not in call:
        os.execv(real, [real, *call])  # noqa: S606 - a question is the real one's
    outcome = run([real, *call])
    _say(outcome)
    if outcome.ok and config.device != "cuda":
        program = _program(Path(sources[0]).read_text("utf-8", "replace"))
        used = struct.pack("<2I", *_registers(outcome.text))
        Path(call[call.index("-o") + 1]).write_bytes(program + used)
    return outcome.code


def _program(ptx: str) -> bytes:
    from grader.simulator.ptx import decode, encode

    return encode(decode(ptx, "submission.py", of_blocks=True))


def _registers(said: str) -> tuple[int, int]:
    """Return the registers of a thread and how many of them lie in memory, which Triton tells of a kernel."""
    used = re.search(r"Used (\d+) registers", said)
    spilled = re.search(r"(\d+) bytes spill stores", said)
    return int(used[1]) if used else 0, int(spilled[1]) // 4 if spilled else 0


def _say(outcome: Outcome) -> None:
    """Put what it printed where Triton reads it, and into the log beside Triton's cache."""
    os.write(2, outcome.text.encode())
    folder = Path(os.environ.get("TRITON_CACHE_DIR", "."))
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / LOG).open("a", encoding="utf-8") as log:
        log.write(outcome.text)
