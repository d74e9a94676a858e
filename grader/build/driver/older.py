"""Flags for older versions of the toolkit or torch, translated for the installed ones.

The installed tools are no property of the answer: flags that older tools would have accepted with the same effect are
replaced by today's. A stock build is left unchanged.
"""

from __future__ import annotations

import re
from pathlib import Path

from grader.build.driver.config import Config
from grader.build.driver.tools import run, say

_OPTIONS = (
    "-arch", "-gencode", "-code", "--gpu-architecture", "--generate-code", "--gpu-code",
)  # fmt: skip
_MODEL = re.compile(r"\b(sm|compute|lto)_(\d+)\b")
_DROPPED = 75
"""First GPU model of CUDA 13; a call without an older one needs no query of the toolkit."""
_STANDARD = re.compile(r"^(?:--?std=)?(?:c|gnu)\+\+(?:17|1z)$")
"""The C++ standard of torch 2.1 to 2.9; no recent torch accepts an older one."""

_OPERATOR = re.compile(r"\bcub::(?:Sum|Max|Min|Difference|Division|Equality|Inequality)\b")


def in_todays_words(config: Config, role: str, call: list[str]) -> list[str]:
    """Return the call of `nvcc` or `c++` with such flags replaced; replacements are logged."""
    if config.mode == "stock":
        return call
    raised = _with_standard(config.standard, call)
    if role != "nvcc":
        return raised
    return [*_with_models(config.nvcc, raised), *_operators_of_cub(config, call)]


def _with_standard(standard: str, call: list[str]) -> list[str]:
    """Replace an older torch's C++ standard with that of the installed torch."""
    if standard == "c++17":
        return call
    raised = [
        f"-std={standard}" if "=" in part and _STANDARD.match(part) else part for part in call
    ]
    for index, part in enumerate(raised[:-1]):
        if part in {"-std", "--std"} and _STANDARD.match(raised[index + 1]):
            raised[index + 1] = standard
    if raised != call:
        say(f"kernel-grader: torch's headers here need {standard}: taken for c++17")
    return raised


def _with_models(nvcc: str, call: list[str]) -> list[str]:
    """Replace a dropped GPU model with the oldest one that this nvcc supports.

    A newer GPU runs both from their PTX, and neither without it.
    """
    places = [
        index
        for index, argument in enumerate(call)
        if argument.startswith(_OPTIONS) or (index and call[index - 1] in _OPTIONS)
    ]
    named = {int(match[2]) for index in places for match in _MODEL.finditer(call[index])}
    if not named or min(named) >= _DROPPED:
        return call
    outcome = run([nvcc, "--list-gpu-arch"])
    known = _MODEL.findall(outcome.text) if outcome.ok else []
    oldest = min((int(number) for _, number in known), default=0)
    raised = list(call)
    for index in places:
        raised[index] = _MODEL.sub(lambda m: f"{m[1]}_{max(int(m[2]), oldest)}", call[index])
    if raised != call:
        say(f"kernel-grader: this nvcc has no model before sm_{oldest}: compiled for that")
    return raised


def _operators_of_cub(config: Config, call: list[str]) -> list[str]:
    """Return the folder of headers for names that CCCL 3 removed from cub, if a source uses one."""
    sources = [Path(argument) for argument in call if argument.endswith(".cu")]
    named = any(_OPERATOR.search(path.read_text("utf-8", "replace")) for path in sources)
    return ["-isystem", f"{config.stubs}/older"] if named else []
