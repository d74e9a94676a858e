"""Writes docs/results.md, the page of all figures, from the data in docs/results.toml.

python benchmarks/results_page.py
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from itertools import groupby
from pathlib import Path

DOCS = Path(__file__).resolve().parents[1] / "docs"
DATA, PAGE = DOCS / "results.toml", DOCS / "results.md"
WORDS = 25
"""The most that a cell holds."""

DRAWN = {
    "before": "before tuning",
    "after": "after tuning",
    "fixed": "fixed set",
    "unrecorded": "not recorded",
}

HEAD = """\
# Results

Every figure that this project claims, with its day, its machine and the command that gives it again. What is not here was not measured.

*Drawn* says whether the cases could have shaped the grader: **before tuning**, they were new to it; **after tuning**, it had been changed because of them;
**fixed set**, they are part of this repository or a published list, and anyone may tune on them.
Sections are by subject, each with its newest figures first. A date is the day on which the figure was written down. *Other work beside it* means that the machine was not idle.

This page is generated from `docs/results.toml` by `python benchmarks/results_page.py`.
"""


@dataclass(frozen=True)
class Figure:
    """One measurement as it stands in the data."""

    section: str
    what: str
    figure: str
    cases: str
    date: str
    machine: str
    drawn: str
    command: str

    def cells(self, machines: dict[str, str]) -> list[str]:
        """Return the cells of its row, as markdown."""
        command = f"`{self.command}`".replace("|", "\\|")
        day = date.fromisoformat(self.date).isoformat()
        where = machines[self.machine]
        return [self.what, self.figure, self.cases, DRAWN[self.drawn], day, where, command]


def read(path: Path = DATA) -> tuple[dict[str, str], list[Figure]]:
    """Return the machines by key, and the figures in order; raises where a field lacks or is unknown."""
    data = tomllib.loads(path.read_text("utf-8"))
    return data["machines"], [Figure(**each) for each in data["figures"]]


def page(machines: dict[str, str], figures: list[Figure]) -> str:
    """Return the page as markdown."""
    return "\n".join([HEAD, *_sections(machines, figures)])


def _sections(machines: dict[str, str], figures: list[Figure]) -> Iterator[str]:
    for section, held in groupby(figures, key=lambda figure: figure.section):
        yield f"## {section}\n"
        yield "| what | figure | cases | drawn | date | machine | command |"
        yield "|---|---|---|---|---|---|---|"
        yield from (_row(figure.cells(machines)) for figure in held)
        yield ""


def _row(cells: list[str]) -> str:
    for cell in cells:
        if len(cell.split()) > WORDS:
            raise ValueError(f"over {WORDS} words: {cell}")
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    PAGE.write_text(page(*read()), "utf-8")
