"""Queries of a tool's version and folders."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

_FOR_COMPILERS = frozenset({
    "NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS", "CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH", "LIBRARY_PATH", "LANGUAGE",
})  # fmt: skip


def environment_of_tools() -> dict[str, str]:
    """Return this process's variables for compilers, as in guests: without those that compilers read.

    Their messages are in English, for the patterns that parse them.
    """
    kept = {name: value for name, value in os.environ.items() if name not in _FOR_COMPILERS}
    return {**kept, "LC_ALL": "C"}


def output(tool: Path | None, *arguments: str) -> str:
    """Return the tool's output on both streams; empty where it can't be run."""
    if tool is None:
        return ""
    try:
        done = subprocess.run(
            [tool, *arguments],
            capture_output=True,
            timeout=60,
            check=False,
            stdin=subprocess.DEVNULL,
            env=environment_of_tools(),
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return (done.stdout + done.stderr).decode("utf-8", "replace")


def search(pattern: str, text: str) -> str:
    """Return the pattern's first group in the text; empty where it isn't there."""
    match = re.search(pattern, text)
    return match.group(1) if match else ""
