"""The dry run: one call of forward at the task's full size on the simulator, without computing values.

A kernel can be right at every reduced size and fail at the real one: a grid with more than 65535
blocks in y, an index above 2^31, a check in the host code. Memory is zero and costs nothing until it is touched, a few
blocks of each launch run, and large operators of torch give shapes only (`Settings::dry_run` in
grader/simulator/native/runtime.hpp). No values are compared.
"""

from __future__ import annotations

import dis
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from grader.guest import program

_opname = dis.opname
_INCONCLUSIVE = ("meta tensor", "Meta", "could not be found", "not enough memory")
"""Torch's message where an operator needs values that a dry run doesn't have."""
_THROWS_THEM = re.compile(
    r"bad_alloc|bad_array_new|PyExc_(?:Memory|NotImplemented)|CHECK_NOT_IMPLEMENTED"
    r"|c10::(?:NotImplemented|OutOfMemory)Error"
)
"""C++ exceptions that become such an error in Python."""
_NO_LETTERS = re.compile(r"[^a-z]+")


def prepare() -> None:
    """Make constructors cheap: weights stay uninitialised, since no values are compared."""
    for name, function in vars(torch.nn.init).items():
        if name.endswith("_") and not name.startswith("_") and callable(function):
            setattr(torch.nn.init, name, lambda tensor, *_, **__: tensor)


def arguments(
    given: Sequence[Mapping[str, Any]], make: Callable[[tuple[int, ...], torch.dtype], torch.Tensor]
) -> list[Any]:
    """Return the arguments of forward: tensors by `shape` and `dtype`, other things by `value`."""
    return [
        make(tuple(item["shape"]), getattr(torch, item["dtype"]))
        if "shape" in item
        else item["value"]
        for item in given
    ]


def inconclusive(error: BaseException, text: str) -> bool:
    """Whether an error is caused by the dry run, not by the program, whose text is given.

    An error raised by the text is the program's, and so is one with words from it, as from a check in C++.
    """
    if _raised_by_its_text(error):
        return False
    if isinstance(error, MemoryError | NotImplementedError | torch.OutOfMemoryError):
        return not _THROWS_THEM.search(text)
    found = [words for words in _INCONCLUSIVE if words in str(error)]
    return bool(found) and not any(_said_by(text, words) for words in found)


def _said_by(text: str, words: str) -> bool:
    """Whether a text contains these words, in one literal or split."""
    return words in text or (" " in words and _letters(words) in _letters(text))


def _letters(text: str) -> str:
    return _NO_LETTERS.sub("", text.lower())


def _raised_by_its_text(error: BaseException) -> bool:
    """Whether the innermost frame of an exception is a `raise` of the submission."""
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    if last is None or last.tb_frame.f_globals.get("__name__") != program.MODULE:
        return False
    code = last.tb_frame.f_code.co_code
    return _opname[code[last.tb_lasti]] == "RAISE_VARARGS"
