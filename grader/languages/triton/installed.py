"""Whether this machine's Triton can compile a submission."""

from __future__ import annotations

import ast
from importlib.metadata import PackageNotFoundError, version

from grader.source import Source

REMOVED = {"make_block_ptr": (3, 9), "advance": (3, 9)}
"""Names of `triton.language` that a version took away: an answer that has them was written for an earlier one."""


def lacks(source: Source) -> str:
    """Return what is missing for a program, and the command that helps; empty where nothing is."""
    known = installed()
    if known is None:
        return 'Triton is not installed here; run pip install "kernel-grader[triton]"'
    names = (source.full_name(node) for node in source.walk(ast.Attribute))
    used = {name.removeprefix("triton.language.") for name in names} & set(REMOVED)
    for name in sorted(used):
        if known >= (since := REMOVED[name]):
            ended = ".".join(map(str, since))
            return (
                f'it uses tl.{name}, which Triton {ended} removed; run pip install "triton<{ended}"'
            )
    return ""


def installed() -> tuple[int, int] | None:
    """Return major and minor version of this machine's Triton; None where there is none."""
    try:
        major, minor = version("triton").split(".")[:2]
    except PackageNotFoundError:
        return None
    return int(major), int(minor)
