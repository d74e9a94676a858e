"""One Triton program that holds all candidates as texts: a text is read, and its kernels compiled, once its number is called.

A kernel compiles in a fraction of a second where it is launched, so nothing has to be shared between candidates.
"""

from __future__ import annotations

from collections.abc import Mapping

from grader.records import Submission
from grader.repair.candidates.candidate import Candidate
from grader.source import edits

EPILOGUE = """


def kg_choice_class(number):
    import linecache
    import sys
    import types

    text = kg_choice_text
    for start, end, words in sorted(kg_choice_edits.get(number, ()), reverse=True):
        text = text[:start] + words + text[end:]
    name = f"kg_choice_{number}"
    module = sys.modules[name] = types.ModuleType(name)
    module.__file__ = f"{__file__}.{number}.py"  # Triton reads its kernels' text by this name
    linecache.cache[module.__file__] = (len(text), None, text.splitlines(True), module.__file__)
    exec(compile(text, module.__file__, "exec"), vars(module))
    return module.ModelNew


def kg_choice_forward(self, *arguments):
    *given, number = arguments
    own = type(self)
    self.__class__ = kg_choice_class(number)
    try:
        return self.forward(*given)
    finally:
        self.__class__ = own


ModelNew.forward = kg_choice_forward
"""
"""`forward` takes the candidate's number after its own arguments; the weights are those of the program itself."""


def weave_texts(submission: Submission, numbered: Mapping[int, Candidate]) -> Submission:
    """Return the program with all candidates in it."""
    fixes = {number: one.fix() for number, one in numbered.items()}
    changes = {n: [(e.start, e.end, e.text) for e in fix.edits] for n, fix in fixes.items() if fix}
    held = f"\n\n\nkg_choice_text = {submission.code!r}\nkg_choice_edits = {changes!r}\n"
    code = edits.apply(submission.code, ()) + held + EPILOGUE
    return submission.model_copy(update={"code": code, "line_map": (0,) * len(code.splitlines())})
