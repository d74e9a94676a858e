"""One Triton program that holds all candidates as texts: a text is read, and its kernels compiled, once its number is called.

A kernel compiles in a fraction of a second where it is launched, so nothing has to be shared between candidates.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from grader.records import Submission
from grader.repair.candidates.candidate import Candidate
from grader.source import edits

EPILOGUE = "\n\n\n" + Path(__file__).with_name("choice.py.txt").read_text("utf-8")
"""`forward` takes the candidate's number after its own arguments; the weights are those of the program itself."""


def weave_texts(submission: Submission, numbered: Mapping[int, Candidate]) -> Submission:
    """Return the program with all candidates in it."""
    fixes = {number: one.fix() for number, one in numbered.items()}
    changes = {n: [(e.start, e.end, e.text) for e in fix.edits] for n, fix in fixes.items() if fix}
    held = f"\n\n\nkg_choice_text = {submission.code!r}\nkg_choice_edits = {changes!r}\n"
    code = edits.apply(submission.code, ()) + held + EPILOGUE
    return submission.model_copy(update={"code": code, "line_map": (0,) * len(code.splitlines())})
