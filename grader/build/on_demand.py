"""What few builds need, made when the first of them comes: the header for the old C++ library's names."""

from __future__ import annotations

import json
from dataclasses import replace

from filelock import FileLock

from grader.build.configuration import configuration
from grader.build.driver import host_pass
from grader.build.precompile import precompile
from grader.build.prepare import Prepared
from grader.build.readable import open_to_guests

_OLD_ABI = "main_old_abi"
_ASKS = host_pass.OLD_ABI.removeprefix("-D").partition("=")[0]


def prepared_for(prepared: Prepared, code: str) -> Prepared:
    """Return what is prepared, with what this program may need beyond it; safe under many processes.

    A program that hides what it needs, or a folder that can't be written, takes the plain compilers' way.
    """
    if _ASKS not in code or "main" not in prepared.precompiled or _OLD_ABI in prepared.precompiled:
        return prepared
    try:
        made = _made(prepared)
    except OSError:
        return prepared
    return replace(prepared, precompiled=(*prepared.precompiled, _OLD_ABI)) if made else prepared


def _made(prepared: Prepared) -> bool:
    """Make the header once, or learn that clang can't."""
    note = prepared.folder / f"{_OLD_ABI}.json"
    if not note.is_file():
        with FileLock(str(prepared.folder) + f".{_OLD_ABI}.lock"):
            if not note.is_file():
                config = configuration(prepared.toolchain, prepared.folder, "cuda", "fast")
                made = precompile(config, _OLD_ABI)
                draft = note.with_suffix(".part")
                draft.write_text(json.dumps(made), "utf-8")
                open_to_guests(*prepared.folder.glob(f"{_OLD_ABI}*"))
                draft.rename(note)
    return bool(json.loads(note.read_text("utf-8")))
