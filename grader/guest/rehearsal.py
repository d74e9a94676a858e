"""One call of forward at the task's full size on the simulator, without computing it.

A kernel can be right at every reduced size and fail at the real one: a grid with more than 65535
blocks in y, an index that passes 2^31, a check in the host code. Memory is zero and costs nothing
until it is touched, a few blocks of each launch run, and large operators of torch give shapes only
(`Settings::rehearsal` in grader/simulator/native/runtime.hpp). No values are compared.
"""

from __future__ import annotations

import dis
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from grader.guest import program

_opname = dis.opname
_INCONCLUSIVE = ("meta tensor", "Meta", "could not be found", "not enough memory")
"""What torch says where an operator needs values that a rehearsal has not got."""


def prepare() -> None:
    """Make constructors cheap: weights stay as the memory is, since no values are compared."""
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


def inconclusive(error: BaseException) -> bool:
    """Whether an error tells of the rehearsal, not of the program; one that its own text raises does not."""
    if _raised_by_its_text(error):
        return False
    if isinstance(error, MemoryError | NotImplementedError | torch.OutOfMemoryError):
        return True
    return any(words in str(error) for words in _INCONCLUSIVE)


def _raised_by_its_text(error: BaseException) -> bool:
    """Whether the innermost frame of an exception is a `raise` of the submission."""
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    if last is None or last.tb_frame.f_globals.get("__name__") != program.MODULE:
        return False
    code = last.tb_frame.f_code.co_code
    return _opname[code[last.tb_lasti]] == "RAISE_VARARGS"
