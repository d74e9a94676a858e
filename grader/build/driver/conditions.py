"""Preprocessor conditions that the quick compilers may evaluate differently than the stock ones.

The quick compilers are clang in g++'s place, and nvcc over a stub of torch's headers. A text whose conditions only use
its own macros, or nvcc's macros for architectures and versions, means the same to both; any other is left to the stock
compilers.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import Path

from grader.build.driver.command import Command
from grader.build.driver.comments import without_comments

MOST_HEADERS = 50
_INCLUDED = re.compile(r"^[ \t]*#[ \t]*include[ \t]*[<\"]([^>\"\n]+)", re.MULTILINE)
_CONDITION = re.compile(r"^[ \t]*#[ \t]*(?:el)?if(?:n?def)?\b((?:[^\n\\]|\\\n|\\.)*)", re.MULTILINE)
_DEFINED = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)", re.MULTILINE)
_PROBE = re.compile(
    r"__has_include\s*\(\s*[<\"](?!torch/|ATen/|c10/|caffe2/|pybind11/)[^>\"\n]*[>\"]\s*\)"
)
"""A `__has_include` of a header outside torch: both compilers see the same files."""
_WORD = re.compile(r"\b[A-Za-z_]\w*")
_ALIKE = re.compile(
    r"defined|true|false|and|or|not|__cplusplus|NDEBUG|TORCH_EXTENSION_NAME|M_\w+|(?:FLT|DBL|INT|UINT|LONG)\w*_(?:MAX|MIN)"
    r"|INFINITY|NAN|__CUDA\w*|CUDA(?:RT)?_VERSION|__NVCC__"
    r"|(?:USE_ROCM|__HIP\w*|__ROCM\w*|HIP_VERSION|_WIN32|_WIN64|WIN32|_MSC_VER|__APPLE__|__linux__|__x86_64__|__OPENCL\w*)"
)
"""Macros with the same value for both: independent of the host compiler and of torch's headers."""
_SPELT = re.compile(r"\b(?:__VERSION__|__PRETTY_FUNCTION__)\b")
"""Names that each compiler spells in its own way, which a program may compare at run time."""


def conditions_asked(command: Command, text: str) -> str:
    """Return a name, of a condition or a spelling, that compilers may evaluate differently, or "".

    The text is searched, with the headers beside it and in the call's own folders.
    """
    known = {define.removeprefix("-D").partition("=")[0] for define in command.defines}
    return asked_by("\n".join(_with_headers(command, text)), known)


def asked_by(text: str, known: Collection[str] = ()) -> str:
    """Return such a name in the text alone that is not known to be defined, or ""."""
    bare = without_comments(text)
    own = {*known, *_DEFINED.findall(bare)}
    for condition in _CONDITION.findall(bare):
        for name in _WORD.findall(_PROBE.sub(" ", condition)):
            if name not in own and not _ALIKE.fullmatch(name):
                return str(name)
    spelt = _SPELT.search(bare)
    return spelt[0] if spelt else ""


def _with_headers(command: Command, text: str) -> list[str]:
    folders = [Path(command.sources[0]).parent, *map(Path, command.includes)]
    found: dict[Path, str] = {}
    texts = [text]
    for one in texts:  # grows in the loop
        for name in _INCLUDED.findall(one):
            path = next((f / name for f in folders if (f / name).is_file()), None)
            if path is not None and path not in found and len(found) < MOST_HEADERS:
                found[path] = path.read_text("utf-8", "replace")
                texts.append(found[path])
    return texts
