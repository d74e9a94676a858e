"""From the paths on the command line to samples."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

from grader.errors import UsageError
from grader.ingest import jsonl, kernelbench, parquet, python_file, solution_folder, transcript
from grader.ingest.decode import MAX_BYTES, clean, decode
from grader.ingest.format import Draft, Format, Input, Skipped
from grader.ingest.names import UniqueNames
from grader.records import Sample

FORMATS: tuple[Format, ...] = (
    kernelbench.FORMAT,
    solution_folder.FORMAT,
    python_file.FORMAT,
    jsonl.FORMAT,
    jsonl.JSON_FORMAT,
    parquet.FORMAT,
    transcript.FORMAT,
)
"""The first format that recognises a file's name reads it; a file given by name that none recognises is a
transcript."""

SKIPPED_FOLDERS = frozenset({"__pycache__", "node_modules"})


def _unheard(_skipped: Skipped) -> None:
    """Ignore a skipped file."""


def read_samples(
    paths: Sequence[str],
    stdin: BinaryIO | None = None,
    skipped: Callable[[Skipped], None] = _unheard,
) -> Iterator[Sample]:
    """Yield the samples of files, folders and `-` (standard input), in a stable order.

    Ids are safe, unique and the same each time. `skipped` is called with each file or line that isn't a sample: an
    invalid record, a link out of its folder. Raises UsageError at once for a missing path and where nothing to grade is
    found; an unreadable file becomes a sample that says so (`Sample.unreadable`).
    """
    inputs: list[Input | None] = []
    for path in paths:
        inputs += [None] if path == "-" else _inputs(Path(path))
    if not inputs:
        suffixes = ", ".join(suffix for one in FORMATS for suffix in one.suffixes)
        raise UsageError(f"nothing to grade in {', '.join(paths) or 'no path'}", f"give {suffixes}")
    return _samples(inputs, stdin, skipped)


def _samples(
    inputs: list[Input | None], stdin: BinaryIO | None, skipped: Callable[[Skipped], None]
) -> Iterator[Sample]:
    names = UniqueNames()
    for one in inputs:
        for draft in _standard_input(stdin) if one is None else _drafts(one):
            if isinstance(draft, Skipped):
                skipped(draft._replace(origin=clean(draft.origin)))
                continue
            yield Sample(id=names.take(draft.name), **_fields(draft))


def _fields(draft: Draft) -> dict[str, object]:
    fields = draft._asdict()
    del fields["name"]
    fields["origin"] = clean(draft.origin)  # a file's name may not be valid text
    return fields


def _drafts(one: Input) -> Iterator[Draft | Skipped]:
    form = next((form for form in FORMATS if form.matches(one.path)), transcript.FORMAT)
    if not one.explicit and one.leads_out(one.path):
        reason = f"a link out of {one.root}, which is not followed: name what it points to"
        yield Skipped(str(one.path), reason)
        return
    try:
        yield from form.read(one)
    except (OSError, EOFError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        yield Draft(one.name, str(one.path), form.name, "", unreadable=reason)


def _standard_input(stdin: BinaryIO | None) -> Iterator[Draft | Skipped]:
    """Read JSONL if the first line is a JSON object, else one transcript."""
    if stdin is None:
        raise UsageError("there is no standard input to read")
    lines = jsonl.lines_of(stdin)
    first = lines.readline(MAX_BYTES)
    if _is_record(first):
        yield from jsonl.read_lines(_Resumed(first, lines), "stdin", "stdin")
        return
    text, notes = decode(first + _rest(lines, MAX_BYTES - len(first) + 1))
    yield Draft("stdin", "stdin", "transcript", text, notes=notes)


def _rest(lines: jsonl.LineReader, most: int) -> bytes:
    parts: list[bytes] = []
    while most > 0 and (part := lines.readline(most)):
        parts.append(part)
        most -= len(part)
    return b"".join(parts)


def _is_record(line: bytes) -> bool:
    text = decode(line).text
    if not text.lstrip().startswith("{"):
        return False
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


class _Resumed:
    """A stream whose first line is returned again."""

    def __init__(self, first: bytes, rest: jsonl.LineReader) -> None:
        self._first = first
        self._rest = rest

    def readline(self, size: int = -1, /) -> bytes:
        first, self._first = self._first, b""
        return first or self._rest.readline(size)


def _inputs(path: Path) -> list[Input]:
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError) as error:
        raise UsageError(f"{path} can't be read: {error}", "check the path") from error
    if stat.S_ISDIR(mode):
        return [Input(file, _name(file, path), False, path) for file in _files(path)]
    if not stat.S_ISREG(mode):
        raise UsageError(f"{path} is neither a file nor a folder", "pipe it in with `-`")
    return [Input(path, _name(path, path.parent), True, path.parent)]


def _name(file: Path, folder: Path) -> str:
    name = file.relative_to(folder).as_posix()
    for suffix in sorted((s for form in FORMATS for s in form.suffixes), key=len, reverse=True):
        if name.lower().endswith(suffix):
            return name[: -len(suffix)]
    return name


def _files(folder: Path) -> Iterator[Path]:
    """Yield the files of a folder that some format knows, in the order of their names.

    Follows links to folders within it, but enters each once, so that loops of links end. A link to a folder elsewhere
    is yielded itself.
    """
    root = Path(os.path.realpath(folder))
    seen: set[tuple[int, int]] = set()
    stack = [folder]
    while stack:
        here = stack.pop()
        try:
            status = here.stat()
            names = sorted(os.listdir(here))  # noqa: PTH208 (names sort alike on all platforms)
        except OSError:
            continue
        if (status.st_dev, status.st_ino) in seen:
            continue
        seen.add((status.st_dev, status.st_ino))
        folders: list[Path] = []
        for name in names:
            path = here / name
            if name.startswith("."):
                continue
            if path.is_symlink() and path.is_dir() and not path.resolve().is_relative_to(root):
                yield path
            elif path.is_dir():
                folders += [path] if name not in SKIPPED_FOLDERS else []
            elif _is_sample(path):
                yield path
        stack += reversed(folders)


def _is_sample(path: Path) -> bool:
    known = any(form.matches(path) for form in FORMATS)
    try:
        beside = kernelbench.is_prompt(path) or solution_folder.is_reference(path)
        return known and not beside and stat.S_ISREG(path.stat().st_mode)
    except OSError:  # a broken link, or no permission to look at it
        return known
