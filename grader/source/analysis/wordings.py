"""Wordings of errors by compilers, linkers and Python: the patterns of `wordings.toml`."""

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

MARKS = "\"\u2018\u2019\u201c\u201d`'"
"""Quotation marks of compilers around names; gcc uses typographic ones."""
STANDS_FOR = {
    "<name>": f"[{MARKS}]([^{MARKS}]+)[{MARKS}]",
    "<quote>": f"[{MARKS}]",
    "<marks>": MARKS,
}


@dataclass(frozen=True)
class Message:
    """A kind of message: its wordings, and the sentence with `{0}`, `{1}` for the names."""

    kind: str
    patterns: tuple[re.Pattern[str], ...]
    sentence: str


@cache
def messages() -> tuple[Message, ...]:
    """Return all kinds of messages, in the order in which they are tried."""
    table = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
    return tuple(
        Message(one["kind"], tuple(map(_pattern, one["wordings"])), one["says"])
        for one in table["message"]
    )


def _pattern(wording: str) -> re.Pattern[str]:
    for short, long in STANDS_FOR.items():
        wording = wording.replace(short, long)
    return re.compile(wording)
