"""Answers whose class has the reference's name, where the prompt asks for no other.

In kernelbench.com's contract, and others, reference and solution are separate texts that each have a class `Model`. The
grader expects a class `ModelNew`, so the answer's class is renamed; lines keep their numbers.
"""

from __future__ import annotations

import re

from grader.ingest.fences import cut_segments, segment_lines
from grader.ingest.numbered import Lines, join_lines, trim_blank_lines
from grader.ingest.python_region import class_line, defines, python_error
from grader.languages import languages
from grader.records import Sample

_ASKED = "Model"
_ANSWER = "ModelNew"
_NAME = re.compile(rf"(?<![\w.\"']){_ASKED}(?![\w\"'])")
NOTE = f"its class {_ASKED} is called {_ANSWER} here: the reference beside it has the same name"


def with_its_own_name(sample: Sample) -> Sample | None:
    """Return a sample whose answer's class is renamed to `ModelNew`; None where the answer has no such class.

    The answer is the last block with kernels and a class of that name; the reference is in the prompt, or in an earlier
    block without kernels.
    """
    text, prompt = sample.text, sample.prompt or ""
    if _ANSWER in text or _ANSWER in prompt or not defines(text, _ASKED):
        return None
    blocks = [
        one for one in cut_segments(text) if class_line(_ASKED).search(text, one.start, one.end)
    ]
    answers = [one for one in blocks if _is_program(segment_lines(text, one))]
    if not answers or not (defines(prompt, _ASKED) or answers[-1] != blocks[0]):
        return None
    start, end = answers[-1].start, answers[-1].end
    renamed = text[:start] + _NAME.sub(_ANSWER, text[start:end]) + text[end:]
    return sample.model_copy(update={"text": renamed})


def _is_program(lines: Lines) -> bool:
    """Whether the lines are Python with their own kernels."""
    text = join_lines(lines)
    signs = (sign for one in languages().values() for sign in (*one.kernel_signs, *one.signs))
    return any(sign in text for sign in signs) and python_error(trim_blank_lines(lines)) is None
