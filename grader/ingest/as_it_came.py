"""The program that KernelBench would evaluate for the same sample.

KernelBench executes a saved kernel or Python file unchanged: prose or a fence around the code is a syntax error. From a
model's output it saves the first text between three backticks (`extract_first_code`), without the words `python` or
`cpp` before it. A record that is entirely a program counts as saved.
"""

from __future__ import annotations

import ast
import re
from typing import NamedTuple

from grader.ingest.markers import answer_start
from grader.records import Extraction, Sample, Submission
from grader.source import read_python

MODEL = "ModelNew"
_BLOCK = re.compile(r"```(.*?)```", re.DOTALL)
_WORDS = ("python", "cpp")
_REFERENCE = "class Model("
"""Beginning of a reference: without chat marks, a first block with it belongs to the prompt."""
_DEFINITIONS = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef, ast.Import, ast.ImportFrom)
_SAVED = frozenset({"python", "kernelbench"})
_MOST = 2_000_000


class AsItCame(NamedTuple):
    """The fate of a sample in KernelBench."""

    runs: bool
    """Whether KernelBench finds a Python program that binds `ModelNew`."""
    is_ours: bool
    """Whether that is the program graded here."""
    why: str = ""
    """A sentence on why KernelBench could not run it."""


def as_it_came(sample: Sample, extraction: Extraction) -> AsItCame:
    """Return whether KernelBench would run the original sample, and whether it would run the program graded here."""
    program = _program(sample)
    if program is None:
        return AsItCame(runs=False, is_ours=False, why="KernelBench finds no code block in it.")
    if len(program) >= _MOST:  # ingest reads less than that, so KernelBench's result is unknown
        return AsItCame(runs=True, is_ours=False)
    tree, error = read_python(program)
    if tree is None:
        at = f" (line {error.line})" if error is not None and error.line else ""
        text = "The original text is not Python: KernelBench stops at a syntax error" + at + "."
        return AsItCame(runs=False, is_ours=False, why=text)
    if not _binds(tree):
        text = f"The part that KernelBench extracts has no {MODEL}."
        return AsItCame(runs=False, is_ours=False, why=text)
    return AsItCame(runs=True, is_ours=_is_of(extraction.submission, tree))


def _program(sample: Sample) -> str | None:
    """Return the text that KernelBench would execute; None where it would save nothing."""
    text = sample.text[:_MOST]
    if sample.format in _SAVED:
        return text
    start = answer_start(text)
    said = text[start:].strip()
    blocks = [_code(found[1]) for found in _BLOCK.finditer(said)]
    if not blocks:
        return said if said and read_python(said)[0] is not None else None
    asked = not start and len(blocks) > 1 and _REFERENCE in blocks[0] and MODEL not in blocks[0]
    return blocks[1] if asked else blocks[0]


def _code(block: str) -> str:
    code = block.strip()
    for word in _WORDS:
        code = code.removeprefix(word).strip()
    return code


def _binds(tree: ast.Module) -> bool:
    """Whether some statement binds the model's name."""
    return any(
        (isinstance(node, ast.ClassDef) and node.name == MODEL)
        or (isinstance(node, ast.Name) and node.id == MODEL and isinstance(node.ctx, ast.Store))
        or (isinstance(node, ast.alias) and (node.asname or node.name) == MODEL)
        for node in ast.walk(tree)
    )


def _is_of(submission: Submission | None, tree: ast.Module) -> bool:
    """Whether a submission's own lines are the same program.

    Inserted lines are ignored, and lines that test the model may have been removed (`pipeline/problem_names.py`); every
    other statement must be there, in the same order.
    """
    if submission is None:
        return False
    mapped = zip(submission.code.splitlines(), submission.line_map, strict=False)
    own, _ = read_python("\n".join(line if number else "" for line, number in mapped))
    try:
        ours = [ast.dump(one) for one in own.body] if own is not None else []
        theirs = [(ast.dump(one), isinstance(one, _DEFINITIONS)) for one in tree.body]
    except RecursionError:
        return False
    kept = [text for text, defines in theirs if defines or text in ours]
    return bool(ours) and kept == ours
