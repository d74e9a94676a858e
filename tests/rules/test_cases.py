"""What rules and fixes make of the programs in `cases/`: each file holds programs of one rule beside what is found in them.

A case is a name, what is known beside the text (JSON), the program, and the findings with the lines that each fix changes.
`python -m tests.rules.test_cases` writes the findings anew, for a reader to look through in the diff.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from grader.records import Context, Evidence, Finding, KernelResources, Task
from grader.source import parse
from grader.source.edits import apply
from tests.rules.reviews import review_with_fixes

FOLDER = Path(__file__).parent / "cases"
CASE, KNOWN, PROGRAM, FOUND = "######## ", "==== known\n", "==== program\n", "==== found\n"


@dataclass(frozen=True)
class Case:
    """One program of a rule."""

    rule: str
    name: str
    known: str
    program: str
    found: str

    def written(self) -> str:
        """Return the case as its file has it."""
        return f"{CASE}{self.name}\n{KNOWN}{self.known}{PROGRAM}{self.program}{FOUND}{self.found}"

    def context(self) -> Context:
        """Return what is known beside the text."""
        known: dict[str, Any] = json.loads(self.known or "{}")
        return Context(
            evidence=tuple(Evidence.model_validate(item) for item in known.get("evidence", ())),
            resources=tuple(
                KernelResources.model_validate(item) for item in known.get("resources", ())
            ),
            task=Task.model_validate(known["task"]) if "task" in known else None,
            device=known.get("device", "none"),
        )

    def now(self) -> str:
        """Return what is found in the program as the code is."""
        found = review_with_fixes(parse(self.program), self.context(), select=(self.rule,))
        return "".join(_shown(one, self.program) for one in found)


def _shown(finding: Finding, program: str) -> str:
    line = finding.place.line if finding.place else 0
    lines = [f"{finding.rule} line {line} {finding.severity} {finding.confidence}"]
    for fix in finding.fixes:
        changed = difflib.unified_diff(
            program.splitlines(), apply(program, fix.edits).splitlines(), lineterm="", n=0
        )
        lines.append(f"  fix: {fix.label}")
        lines += [f"    {text}" for text in list(changed)[2:] if not text.startswith("@@")]
    return "\n".join(lines) + "\n"


def cases(path: Path) -> Iterator[Case]:
    """Yield the cases of a file."""
    for text in path.read_text("utf-8").split(CASE)[1:]:
        name, _, rest = text.partition("\n")
        known, _, rest = rest.removeprefix(KNOWN).partition(PROGRAM)
        program, _, found = rest.rpartition(FOUND)
        yield Case(path.stem, name, known, program, found)


ALL = [case for path in sorted(FOLDER.glob("*.txt")) for case in cases(path)]


@pytest.mark.parametrize("case", ALL, ids=lambda case: f"{case.rule} {case.name}")
def test_the_findings_and_fixes_of_a_program(case: Case) -> None:
    assert case.now() == case.found


def write() -> None:
    """Write the findings of all cases anew."""
    for path in sorted(FOLDER.glob("*.txt")):
        anew = [Case(one.rule, one.name, one.known, one.program, one.now()) for one in cases(path)]
        path.write_text("".join(one.written() for one in anew), "utf-8")


if __name__ == "__main__":
    write()
