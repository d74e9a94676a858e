"""Problem files in KernelBench's form, and references in a prompt.

A draft has no workloads yet: `grader.execution.describe` runs a guest to find the inputs' shapes, since the text is no
more trusted than a submission.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from grader.errors import UsageError
from grader.ingest.own_class import as_model
from grader.records import JsonValue, Task, TensorSpec, digest

NEEDED = ("Model", "get_inputs")
MAX_BYTES = 1_000_000
MIN_NAME = 4
"""A shorter stem is not specific enough: `mm` is in many names."""
_STEM = re.compile(r"(?P<number>\d+)_(?P<name>.+)")


def load(path: Path) -> Task:
    """Return the draft of a problem file with `Model`, `get_inputs`, `get_init_inputs`.

    Raises UsageError where it can't be read or defines no problem.
    """
    try:
        if path.stat().st_size > MAX_BYTES:
            raise UsageError(f"{path} is too large for a problem file")
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise UsageError(f"can't read the problem file {path}: {error.strerror}") from error
    named = as_model(text)
    text = named.text if named else text
    missing = missing_names(text)
    if missing:
        raise UsageError(f"{path} is not a problem file: it defines no {' and no '.join(missing)}")
    found = _STEM.fullmatch(path.stem)
    source = "kernelbench" if found else "file"
    return _draft(path.stem, source, text)


def from_reference(text: str) -> Task | None:
    """Return the draft of a reference in a transcript; None if it defines no problem.

    Its name is computed from the text, so that all answers to one prompt have one task.
    """
    if missing_names(text):
        return None
    draft = _draft(f"prompt-{digest('reference', text)[:8]}", "embedded", text)
    return draft.model_copy(update={"title": "The prompt's reference"})


def with_makers(task: Task) -> str:
    """Return the text of the reference; if it has no `get_inputs` and `get_init_inputs`, add those of its first workload.

    Shapes and dtypes are the workload's; the values are zeros, since only the grader's own inputs are used for
    verdicts.
    """
    if not missing_names(task.reference):
        return task.reference
    first = task.workloads[0]
    inputs = "".join(f"        {_maker(item)},\n" for item in first.inputs)
    return (
        f"{task.reference}\n\ndef get_inputs():\n    return [\n{inputs}    ]\n\n\n"
        f"def get_init_inputs():\n    return {list(first.init)!r}\n"
    )


def _maker(item: TensorSpec | JsonValue) -> str:
    if not isinstance(item, TensorSpec):
        return repr(item)
    return f"torch.zeros({item.shape!r}, dtype=torch.{item.dtype})"


def missing_names(text: str) -> tuple[str, ...]:
    """Return which of `Model` and `get_inputs` a text does not define at its top level."""
    try:
        body = ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return NEEDED
    defined = {n.name for n in body if isinstance(n, ast.ClassDef | ast.FunctionDef)}
    return tuple(name for name in NEEDED if name not in defined)


def find(folder: Path, level: int, problem: int) -> Path | None:
    """Return KernelBench's file of a problem: `level1/39_L2Norm_.py` under `folder`."""
    for place in _level_folders(folder, level):
        found = sorted(place.glob(f"{problem}_*.py"))
        if found:
            return found[0]
    return None


def find_by_name(folder: Path, name: str) -> Path | None:
    """Return the problem file that a hint names, by its stem, with or without a level folder."""
    wanted = _plain(name.replace("\\", "/").rsplit("/", 1)[-1].removesuffix(".py"))
    found = (
        path for path in sorted(folder.rglob("*.py")) if wanted and _plain(path.stem) == wanted
    )
    return next(found, None)


def find_within(folder: Path, name: str) -> Path | None:
    """Return the problem file whose whole stem is a part of a longer name, if there is just one.

    Some runs name files so, with model and GPU in front: `gpt5_H100_39_L2Norm_.py.txt`.
    """
    text = f"_{_plain(name)}_"
    stems = {path: _plain(path.stem) for path in sorted(folder.rglob("*.py"))}
    held = [path for path, stem in stems.items() if len(stem) >= MIN_NAME and f"_{stem}_" in text]
    longest = max((len(stems[path]) for path in held), default=0)
    best = [path for path in held if len(stems[path]) == longest]
    return best[0] if len(best) == 1 else None


def find_called(folder: Path, name: str) -> Path | None:
    """Return the problem file whose whole stem is this name, numbers included, if there is one."""
    plain = _plain(name)
    if len(plain) < MIN_NAME:
        return None
    found = [path for path in sorted(folder.rglob("*.py")) if _plain(path.stem) == plain]
    return found[0] if len(found) == 1 else None


def _plain(name: str) -> str:
    return re.sub(r"[^0-9a-z]+", "_", name.lower()).strip("_")


def _level_folders(folder: Path, level: int) -> Iterator[Path]:
    names = (f"level{level}", f"level_{level}")
    yield from (place for name in names for place in sorted(folder.rglob(name)) if place.is_dir())
    if folder.name in names:
        yield folder


def _draft(stem: str, source: str, text: str) -> Task:
    return Task.model_validate(
        {
            "name": stem[:100],
            "title": title_of(stem),
            "source": source,
            "reference": text,
            "workloads": (),
        }
    )


def title_of(stem: str) -> str:
    """Return `L2Norm` for `39_L2Norm_`."""
    found = _STEM.fullmatch(stem)
    return (found["name"] if found else stem).replace("_", " ").strip()[:100] or stem
