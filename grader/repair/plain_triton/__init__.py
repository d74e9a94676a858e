"""Plain reference-fixed kernels in Triton: a program for one task of each family, and edits for the others.

`kernels/NAME.py.txt` is a whole answer (its first line says the task); `kernels/NAME.toml` names further tasks, each with
the edits that make the program theirs. An anchor that isn't unique is an error, so that no edit can miss.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType

from grader.records import Task

KERNELS = Path(__file__).parent / "kernels"
HEADER = "# task: "


def triton_code(task: Task) -> str | None:
    """Return the plain Triton program for a built-in task; None if there is none."""
    code = programs().get(task.name)
    return f'"""{task.title}: reference-fixed kernel in Triton."""\n\n{code}' if code else None


@cache
def programs() -> Mapping[str, str]:
    """Return every program by its task, without a header."""
    return MappingProxyType(dict(_programs()))


def edit_code(code: str, edits: Iterable[tuple[str, str]]) -> str:
    """Return the code with each text replaced by another; raises ValueError where one isn't there exactly once."""
    for old, new in edits:
        if code.count(old) != 1:
            msg = f"the anchor occurs {code.count(old)} times: {old!r}"
            raise ValueError(msg)
        code = code.replace(old, new)
    return code


def _programs() -> Iterator[tuple[str, str]]:
    for path in sorted(KERNELS.glob("*.py.txt")):
        first, _, code = path.read_text("utf-8").partition("\n")
        yield first.removeprefix(HEADER).strip(), code
        table = path.with_name(path.name.removesuffix(".py.txt") + ".toml")
        if table.exists():
            for entry in tomllib.loads(table.read_text("utf-8"))["variant"]:
                yield entry["task"], edit_code(code, entry["edits"])
