"""Notes of Triton's compiler errors beside its cache, since the submission may catch the exceptions."""

from __future__ import annotations

import hashlib
import os
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import triton.compiler

FOLDER = "refused"
MOST = 20_000


def note_all() -> None:
    """Make every exception of the compiler write a note."""
    original = triton.compiler.compile

    def compile_(*args: Any, **named: Any) -> Any:
        try:
            return original(*args, **named)
        except Exception as error:
            _note(error)
            raise

    triton.compiler.compile = _named_as(compile_, original)


def _named_as(function: Callable[..., Any], original: Callable[..., Any]) -> Callable[..., Any]:
    function.__name__, function.__module__ = original.__name__, original.__module__
    return function


def _note(error: Exception) -> None:
    reason = f"{type(error).__name__}: {error}"[:MOST]
    text = f"{reason}\0{''.join(traceback.format_exception(error))[-MOST:]}"
    name = hashlib.sha256(reason.encode("utf-8", "replace")).hexdigest()[:40]
    try:
        folder = Path(os.environ["TRITON_CACHE_DIR"], FOLDER)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.txt").write_text(text, "utf-8", "replace")
    except (OSError, KeyError):
        return
