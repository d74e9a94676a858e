"""Whether this machine's Triton can compile a submission."""

from __future__ import annotations

import ast
import re
from importlib.util import find_spec
from pathlib import Path

from grader.source import Source

REMOVED = {"make_block_ptr": (3, 9), "advance": (3, 9)}
"""Names of `triton.language` that a version removed: an answer that uses them was written for an earlier one."""

FIRST_SIMULATED = (3, 3)
"""The first version whose driver the simulator can replace (grader/guest/triton_face.py)."""


def lacks(source: Source, device: str) -> str:
    """Return what a program on a device lacks, with the command to install it; empty where it lacks nothing."""
    known = installed_version()
    if known is None:
        return 'Triton is not installed here; run pip install "kernel-grader[triton]"'
    if device == "sim" and known < FIRST_SIMULATED:
        first, have = (".".join(map(str, version)) for version in (FIRST_SIMULATED, known))
        return f'the simulator takes Triton from {first} on, here is {have}; run pip install "kernel-grader[triton]"'
    names = (source.module.canonical(node) for node in source.walk(ast.Attribute))
    used = {name.removeprefix("triton.language.") for name in names} & set(REMOVED)
    for name in sorted(used):
        if known >= (since := REMOVED[name]):
            ended = ".".join(map(str, since))
            return (
                f'it uses tl.{name}, which Triton {ended} removed; run pip install "triton<{ended}"'
            )
    return ""


def installed_version() -> tuple[int, int] | None:
    """Return major and minor version of this machine's Triton, of any distribution; None if there is none."""
    spec = find_spec("triton")
    if spec is None or spec.origin is None:
        return None
    text = Path(spec.origin).read_text("utf-8")
    told = re.search(r"(?m)^__version__ *= *['\"](\d+)\.(\d+)", text)
    return (int(told[1]), int(told[2])) if told else None
