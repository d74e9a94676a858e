"""KernelBench's run folders: `level_1_problem_39_sample_0_kernel.py` and sometimes the prompt."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from grader.ingest.decode import MAX_BYTES, decode
from grader.ingest.format import Draft, Format, Input, read_bytes
from grader.ingest.transcript import task_hint
from grader.records import KernelBenchId

_NAME = re.compile(
    r"(?:.*[/_-])?level[_-]?(\d{1,6})[/_-](?:problem|task)[_-]?(\d{1,6})"
    r"(?:[/_-](?:sample|solution)[_-]?(\d{1,6}))?"
    r"(?:[/_-](?:kernel|solution|answer|response|code|model_new|generated_kernel))?"
    r"\.(?:py|txt|md|py\.txt)",
    re.IGNORECASE,
)
"""KernelBench's own file name, or the same parts spread over folders, at the end of a path."""
_NUMBERED = re.compile(
    r"(?:.*/)?level[_-]?(\d{1,6})/(\d{1,6})_\w+(?:/[\w.-]+)?\.(?:py|txt|md|py\.txt)", re.IGNORECASE
)
"""An answer with the name of its problem: `level1/39_L2Norm_.py`."""
_PARTS = 4
_PROMPT = re.compile(r"level_\d+_problem_\d+_(?:sample|solution)_\d+_prompt\.txt\Z")


def is_prompt(path: Path) -> bool:
    """Whether a file is the prompt that KernelBench keeps beside a kernel, which isn't a sample."""
    return _PROMPT.fullmatch(path.name) is not None


def identify(path: Path) -> KernelBenchId | None:
    """Return the level, problem and sample that a path's last parts name; sample 0 if not named."""
    end = "/".join(path.parts[-_PARTS:])
    found = _NAME.fullmatch(end) or _NUMBERED.fullmatch(end)
    if found is None:
        return None
    level, problem, *sample = (int(number or 0) for number in found.groups())
    return KernelBenchId(level=level, problem=problem, sample=sample[0] if sample else 0)


def _matches(path: Path) -> bool:
    return identify(path) is not None


def _read_run(source: Input) -> Iterator[Draft]:
    ident = identify(source.path)
    if ident is None:
        return
    text, notes = decode(read_bytes(source.path, MAX_BYTES))
    prompt = source.path.with_name(f"{source.path.stem.removesuffix('_kernel')}_prompt.txt")
    yield Draft(
        source.name,
        str(source.path),
        "kernelbench",
        text,
        prompt=decode(read_bytes(prompt, MAX_BYTES)).text if source.has_beside(prompt) else None,
        task_hint=task_hint(source, ""),
        kernelbench=ident,
        notes=notes,
    )


FORMAT = Format("kernelbench", (), _matches, _read_run)
