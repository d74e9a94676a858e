"""Transcripts: a model's whole output in a text file."""

from __future__ import annotations

import re
from collections.abc import Iterator

from grader.ingest.decode import MAX_BYTES, decode
from grader.ingest.format import Draft, Format, Input, has_suffix, read_bytes

_TASK_LINE = re.compile(r"\A\s*task:[ \t]*([\w./-]{1,80})[ \t]*$", re.IGNORECASE | re.MULTILINE)


def task_hint(source: Input, text: str) -> str | None:
    """Return the task that a side file (`x.txt.task`, `x.task`) or a first line `task: x` names."""
    path = source.path
    for side in (path.with_name(path.name + ".task"), path.with_suffix(".task")):
        if source.has_beside(side):
            words = decode(read_bytes(side, 1000)).text.split("\n", 1)[0].strip()
            if words:
                return words.removeprefix("task:").strip()[:100]
    found = _TASK_LINE.match(text[:2000])
    return found[1] if found else None


def _read_transcript(source: Input) -> Iterator[Draft]:
    text, notes = decode(read_bytes(source.path, MAX_BYTES))
    hint = task_hint(source, text)
    yield Draft(source.name, str(source.path), "transcript", text, task_hint=hint, notes=notes)


SUFFIXES = (".txt", ".md", ".markdown")
FORMAT = Format("transcript", SUFFIXES, has_suffix(*SUFFIXES), _read_transcript)
