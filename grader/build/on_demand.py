"""Precompiled headers that few builds need, made for the first such build."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace

from filelock import FileLock

from grader.build.configuration import configuration
from grader.build.driver import binding, host_pass
from grader.build.precompile import precompile
from grader.build.prepare import Prepared, make_headers
from grader.build.readable import open_to_guests
from grader.languages import names_in
from grader.source import parse

_OLD_ABI = host_pass.OLD_ABI.removeprefix("-D").partition("=")[0]


def prepared_for(prepared: Prepared, code: str) -> Prepared:
    """Return the prepared files, with those that this program may also need; safe under many processes.

    A program that hides its needs, or a folder that can't be written, leads to the plain compilers.

    Raises:
        GraderError: torch's headers can't be read.

    """
    if _compiles_cpp(code):
        make_headers(prepared)
    if "extension" not in prepared.precompiled:
        return prepared
    try:
        made = [name for name in _headers_needed(code) if _make_header(prepared, name)]
    except OSError:
        return prepared
    return replace(prepared, on_demand=tuple(made))


def _compiles_cpp(code: str) -> bool:
    """Whether a program may call a C++ or CUDA compiler: all programs but those in Triton only."""
    return "cpp_extension" in code or names_in(parse(code)) != {"triton"}


def _headers_needed(code: str) -> Iterator[str]:
    if _OLD_ABI in code:
        yield "main_old_abi"
    units = [unit for unit in parse(code).units if unit.language == "cpp"]
    known = all(unit.resolved and binding.only_declares(unit.text) for unit in units)
    if "cpp_extension" in code and not (units and known):
        yield "main"


def _make_header(prepared: Prepared, name: str) -> bool:
    """Make the header once, or learn that clang can't."""
    note = prepared.folder / f"{name}.json"
    if not note.is_file():
        with FileLock(str(prepared.folder) + f".{name}.lock"):
            if not note.is_file():
                config = configuration(prepared.toolchain, prepared.folder, "cuda", "fast")
                made = precompile(config, name)
                draft = note.with_suffix(".part")
                draft.write_text(json.dumps(made), "utf-8")
                open_to_guests(*prepared.folder.glob(f"{name}*"))
                draft.rename(note)
    return bool(json.loads(note.read_text("utf-8")))
