"""Executes generated text as a Python module, and describes its exceptions as plain text."""

from __future__ import annotations

import linecache
import sys
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType, TracebackType

from grader.guest.kinds import MAX_TEXT

MODULE = "submission"


@dataclass(frozen=True)
class Failure:
    """An exception of the submission as text only, shortened, with the line of the submission."""

    reason: str
    traceback: str
    line: int | None
    out_of_memory: bool = False


def execute(code: str, folder: Path) -> ModuleType:
    """Run the text as module `submission`; its exceptions propagate.

    The text is on disk and in linecache, so that `inspect.getsource` (Triton, torch.compile) works.
    """
    path = folder / f"{MODULE}.py"
    path.write_text(code, encoding="utf-8", errors="surrogatepass", newline="")
    module = ModuleType(MODULE)
    module.__file__ = str(path)
    vars(module)["__builtins__"] = vars(sys.modules["builtins"])
    sys.modules[MODULE] = module
    lines = code.splitlines(keepends=True)
    linecache.cache[str(path)] = (len(code), None, lines, str(path))
    exec(compile(code, str(path), "exec"), module.__dict__)  # noqa: S102 - what the guest is for
    return module


def failure(error: BaseException, folder: Path) -> Failure:
    """Describe an exception; never raises, whatever its class does in `__str__`."""
    path = str(folder / f"{MODULE}.py")
    try:
        reason = _reason(error, path)
    except BaseException:  # noqa: BLE001 - a hostile __str__ may raise anything
        reason = "an exception that can't be shown"
    try:
        text = "".join(_lines(error, path))
    except BaseException:  # noqa: BLE001 - likewise
        text = ""
    return Failure(
        cut_text(reason), cut_text(text), _line(error, path), _is_out_of_memory(error, reason)
    )


def _reason(error: BaseException, path: str) -> str:
    if isinstance(error, SyntaxError) and error.filename == path:
        return f"{type(error).__name__}: {error.msg} (line {error.lineno})"
    message = str(error)
    return f"{type(error).__name__}: {message}" if message else type(error).__name__


def _lines(error: BaseException, path: str) -> Iterator[str]:
    """Yield the traceback in Python's format, without the guest's own frames at its top."""
    first = error.__traceback__
    while first is not None and first.tb_frame.f_code.co_filename != path:
        first = first.tb_next
    yield from traceback.format_exception(type(error), error, first or error.__traceback__)


def _frames(first: TracebackType | None) -> Iterator[TracebackType]:
    while first is not None:
        yield first
        first = first.tb_next


def _line(error: BaseException, path: str) -> int | None:
    """Return the deepest line of the submission in the traceback, or a syntax error's own."""
    if isinstance(error, SyntaxError) and error.filename == path:
        return error.lineno
    lines = [f.tb_lineno for f in _frames(error.__traceback__) if _file(f) == path]
    return lines[-1] if lines else None


def _file(frame: TracebackType) -> str:
    return frame.tb_frame.f_code.co_filename


def _is_out_of_memory(error: BaseException, reason: str) -> bool:
    told = ("DefaultCPUAllocator: can't allocate", "out of memory", "Cannot allocate memory")
    return isinstance(error, MemoryError) or any(text in reason for text in told)


def cut_text(text: str, limit: int = MAX_TEXT) -> str:
    """Return at most `limit` characters: head and tail, valid UTF-8."""
    text = text.encode("utf-8", "backslashreplace").decode()
    if len(text) <= limit:
        return text
    half = (limit - 40) // 2
    return f"{text[:half]}\n... {len(text) - 2 * half} characters cut ...\n{text[-half:]}"
