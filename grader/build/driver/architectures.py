"""GPU models that a newer toolkit no longer compiles for, in answers written for an older one.

A simulated GPU is no older or newer than its toolkit: what the answer's own toolkit would have taken
(and a newer GPU have started from its PTX) is compiled for the oldest model that this one knows.
"""

from __future__ import annotations

import re

from grader.build.driver.tools import run, say

_OPTIONS = (
    "-arch", "-gencode", "-code", "--gpu-architecture", "--generate-code", "--gpu-code",
)  # fmt: skip
_MODEL = re.compile(r"\b(sm|compute|lto)_(\d+)\b")
_DROPPED = 75
"""CUDA 13 dropped the models before it; without one of those in a call no toolkit is asked."""


def known_here(nvcc: str, call: list[str]) -> list[str]:
    """Return the call with the models that nvcc has dropped raised to the oldest that it has."""
    places = [
        index
        for index, argument in enumerate(call)
        if argument.startswith(_OPTIONS) or (index and call[index - 1] in _OPTIONS)
    ]
    named = {int(match[2]) for index in places for match in _MODEL.finditer(call[index])}
    if not named or min(named) >= _DROPPED:
        return call
    oldest = min((int(number) for _, number in _MODEL.findall(_models(nvcc))), default=0)
    raised = [
        _MODEL.sub(lambda m: f"{m[1]}_{max(int(m[2]), oldest)}", argument)
        if index in places
        else argument
        for index, argument in enumerate(call)
    ]
    if raised != call:
        say(f"kernel-grader: this nvcc has no model before sm_{oldest}: compiled for that")
    return raised


def _models(nvcc: str) -> str:
    outcome = run([nvcc, "--list-gpu-arch"])
    return outcome.text if outcome.ok else ""
