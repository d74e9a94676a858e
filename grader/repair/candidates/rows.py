"""The tables of slips, `rows.toml` in each language's folder: the written form, the intended form, and its unlikelihood."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from grader.repair.candidates.pattern import Rewrite


@cache
def read_rows(language: str, table: str = "rows") -> tuple[Rewrite, ...]:
    """Return the rewrites of one table of a language's."""
    path = Path(__file__).parent / language / f"{table}.toml"
    return tuple(_rewrites(tomllib.loads(path.read_text("utf-8"))["rows"]))


def _rewrites(groups: list[dict[str, Any]]) -> Iterator[Rewrite]:
    for group in groups:
        for words in group.get("each", [""]):
            put = {f"${at}": word for at, word in enumerate(words.split(" "), 1)}
            yield from (_row(group, put, *row) for row in group["changes"])


def _row(
    group: Mapping[str, Any], put: Mapping[str, str], pattern: str, become: str | list[str], cost: float, more: str = ""
) -> Rewrite:  # fmt: skip
    """Return one row of a group; `more` are its conditions beside the group's."""

    def written_template(template: str) -> str:
        return re.sub(r"\$\d", lambda mark: put[mark[0]], template)

    options = [become] if isinstance(become, str) else become
    where = (*group.get("where", "").split(), *more.split())
    return Rewrite(
        written_template(pattern), tuple(map(written_template, options)), cost, group.get("touches", ""),
        tuple(map(written_template, where)), group.get("together", False), group.get("kind", "replace"),
    )  # fmt: skip
