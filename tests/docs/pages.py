"""What the documentation's pages hold that can be run: files with a name, and commands."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
RUN = ("tutorial.md", "how-to/batch.md", "how-to/write-a-kernel.md", "how-to/read-a-race.md",
       "how-to/task.md", "how-to/rule.md", "how-to/harbor.md")  # fmt: skip
_BLOCK = re.compile(r"^```(?P<info>[^\n]*)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
_CAPTION = re.compile(r"^:caption: (?P<path>\S+)\n\n", re.MULTILINE)


@dataclass(frozen=True)
class File:
    """A block with a caption: a file that the reader writes."""

    path: str
    text: str


@dataclass(frozen=True)
class Command:
    """A line after `$` in a console block."""

    line: str


def steps(page: str) -> Iterator[File | Command]:
    """Yield what a reader of this page does, in order."""
    for found in _BLOCK.finditer((ROOT / "docs" / page).read_text("utf-8")):
        info, body = found["info"], found["body"]
        caption = _CAPTION.match(body)
        if info.startswith("{code-block}") and caption:
            yield File(caption["path"], body[caption.end() :])
        elif info == "console":
            yield from (Command(line[2:]) for line in body.splitlines() if line.startswith("$ "))
