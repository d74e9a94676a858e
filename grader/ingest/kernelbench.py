"""KernelBench's run folders: `level_1_problem_39_sample_0_kernel.py` and, at times, the prompt."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from grader.ingest.decode import MAX_BYTES, decode
from grader.ingest.format import Draft, Format, Input, read_bytes
from grader.ingest.transcript import task_hint
from grader.records import KernelBenchId

_NAME = re.compile(r"level_?(\d{1,6})_problem_?(\d{1,6})_sample_?(\d{1,6})_kernel\.(?:py|txt)\Z")
_PROMPT = re.compile(r"level_\d+_problem_\d+_sample_\d+_prompt\.txt\Z")


def is_prompt(path: Path) -> bool:
    """Whether a file is the prompt that KernelBench keeps beside a kernel; it is no sample."""
    return _PROMPT.fullmatch(path.name) is not None


def _matches(path: Path) -> bool:
    return _NAME.fullmatch(path.name) is not None


def _read(source: Input) -> Iterator[Draft]:
    found = _NAME.fullmatch(source.path.name)
    if found is None:
        return
    level, problem, sample = (int(number) for number in found.groups())
    text, notes = decode(read_bytes(source.path, MAX_BYTES))
    prompt = source.path.with_name(source.path.name[: found.end(3)] + "_prompt.txt")
    yield Draft(
        source.name,
        str(source.path),
        "kernelbench",
        text,
        prompt=decode(read_bytes(prompt, MAX_BYTES)).text if prompt.is_file() else None,
        task_hint=task_hint(source.path, ""),
        kernelbench=KernelBenchId(level=level, problem=problem, sample=sample),
        notes=notes,
    )


FORMAT = Format("kernelbench", (), _matches, _read)
