"""Creates the files that an answer reads and gives in separate blocks: `kernel.cu` beside the Python."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from grader.ingest.fences import Segment, segment_lines
from grader.ingest.numbered import Line, Lines, join_lines, trim_blank_lines
from grader.languages import embedded_texts
from grader.source import read_python
from grader.source.files import named_file, written_files

CAPTION = 300
"""Number of characters before a block that may name its file."""


@dataclass(frozen=True)
class _Block:
    lines: Lines
    segment: int
    caption: str
    """The text right before it, on its fence and in its first line; in lower case."""


def with_files(
    text: str, segments: tuple[Segment, ...], lines: Lines, taken: set[int], most: int
) -> tuple[Lines, tuple[str, ...], set[int]]:
    """Return the program, preceded by statements that write the files which it reads.

    A file is the last block of code for a compiler whose caption names it, or the only block where it is
    the only file. `taken` are segments that aren't files, `most` limits the number of blocks examined. Returns the
    program, notes, and the segments that became files.
    """
    wanted = _read_files(join_lines(lines))
    if not wanted:
        return lines, (), set()
    blocks = [one for one in _blocks(text, segments, most) if one.segment not in taken]
    used: set[int] = set()
    notes: list[str] = []
    for number, name in enumerate(wanted):
        block = _block_of(name, blocks, alone=len(wanted) == 1)
        if block is None:
            continue
        lines = (
            Line(0, f'_file_{number} = r"""'),
            *block.lines,
            Line(0, '"""'),
            Line(0, "import pathlib"),
            Line(0, f"pathlib.Path({name!r}).parent.mkdir(parents=True, exist_ok=True)"),
            Line(0, f"pathlib.Path({name!r}).write_text(_file_{number})"),
            *lines,
        )
        used.add(block.segment)
        notes.append(f"`{name}` is the block at line {block.lines[0].number} of the answer")
    return lines, tuple(notes), used


def _read_files(code: str) -> list[str]:
    """Return the relative paths of sources that a program names and does not write itself."""
    tree, _ = read_python(code)
    if tree is None:
        return []
    names = (
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    )
    written = written_files(tree)
    found = [
        one for one in dict.fromkeys(names) if _is_path(one) and named_file(one) not in written
    ]
    return found[:8]


def _is_path(name: str) -> bool:
    plain = name.endswith(tuple(_suffixes())) and len(name) < 100 and not name.startswith("/")
    return plain and not set(name) & set(" \n<>{}*$\\\"'") and ".." not in name.split("/")


def _suffixes() -> Iterator[str]:
    for one in embedded_texts():
        yield from one.suffixes


def _blocks(text: str, segments: tuple[Segment, ...], most: int) -> list[_Block]:
    inside = [one for one in segments if one.inside][-most:]
    found = []
    for one in inside:
        lines = trim_blank_lines(segment_lines(text, one))
        if lines and _is_source(join_lines(lines)):
            fence = one.opening.start if one.opening else one.start
            before = text[max(0, fence - CAPTION) : fence].rpartition("```")[2]
            info = one.opening.info if one.opening else ""
            found.append(_Block(lines, one.index, f"{before}\n{info}\n{lines[0].text}".lower()))
    return found


def _is_source(code: str) -> bool:
    if '"""' in code or code.rstrip().endswith("\\") or "class ModelNew" in code:
        return False
    signs = (sign for one in embedded_texts() for sign in one.file_signs)
    return "import torch" not in code and any(sign in code for sign in signs)


def _block_of(name: str, blocks: list[_Block], *, alone: bool) -> _Block | None:
    captioned = [one for one in blocks if named_file(name) in one.caption]
    if captioned:
        return captioned[-1]
    return blocks[0] if alone and len(blocks) == 1 else None
