"""Rewrites of lines by patterns: one row of a table for each slip of the pen that a compiler stops at."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from grader.records import Edit, Fix
from grader.repair.fixes.compiler.diagnostic import Diagnostic
from grader.source import Source
from grader.source.code_edits import fix
from grader.source.cuda_code import units

LOOKS: Mapping[str, str] = {
    "\u00a0": " ", "\u2009": " ", "\u202f": " ", "\u200b": "", "\ufeff": "", "\u2212": "-", "\u2010": "-", "\u2011": "-",
    "\u2013": "-", "\u2014": "-", "\u00d7": "*", "\u2018": "'", "\u2019": "'", "\u201c": '"', "\u201d": '"', "\u2264": "<=",
    "\u2265": ">=", "\u2260": "!=", "\uff08": "(", "\uff09": ")", "\uff0c": ",", "\uff1b": ";",
}  # fmt: skip
"""Signs that word processors write, and the ones of C that they look like."""
METHODS = (
    "numel|dim|ndimension|device|dtype|options|sizes|strides|scalar_type|contiguous|is_cuda|is_contiguous|defined"
    "|element_size|item<\\w+>|data_ptr<[\\w:]+>|data<[\\w:]+>"
)
PYTHON_S = (
    (r"\.shape\s*\[([^\]]+)\]", r".size(\1)"),
    (r"\.(?:shape|sizes)\s*\(\s*(-?\w+)\s*\)", r".size(\1)"),
    (r"\.size\s*\(\s*\)\s*\[([^\]]+)\]", r".size(\1)"),
    (r"\.size\s*\(\s*\)", ".numel()"),
    (r"\.shape\b(?!\s*[\[(])", ".sizes()"),
    (r"\.ndim\b(?!\s*\()", ".dim()"),
    (r"\btorch\.(?=\w)", "torch::"),
    (r"\btorch::(float32|float16|bfloat16|float64|int32|int64)\b", r"torch::k\1"),
    (r"\btorch::(?:cuda::)?float\b", "torch::kFloat32"),
    (r"\bkfloat", "kFloat"),
    (r"\bkbfloat", "kBFloat"),
    (r"\bkint", "kInt"),
)
"""What Python and half-remembered C++ call things, and what libtorch calls them; in this order."""
PAIRS = r"(?:max|min|sort|topk|median|mode|kthvalue|cummax|cummin)"
"""Functions that give values and indices."""
MASKS = r"\b(__(?:shfl(?:_up|_down|_xor)?|any|all|ballot))\s*\("
"""What CUDA had before it asked for the lanes that take part; it went with Volta."""


@dataclass(frozen=True)
class Rewrite:
    """What is put for what, where a compiler says something of these kinds."""

    label: str
    kinds: frozenset[str]
    patterns: tuple[tuple[str, str], ...]
    everywhere: bool = False
    """Whether all lines of the texts are rewritten, once the line of the message has it; else that line alone."""
    says: str = ""
    """What the message must say as well."""


REWRITES = (
    Rewrite("keep the pointer's const in the cast", frozenset({"casts-const-away"}),
            ((r"\b((?:reinterpret|static)_cast<)\s*(?!const\b)(?=\w+\s*\*\s*>)", r"\1const "),)),
    Rewrite("call the method", frozenset({"method-not-called"}), ((rf"\.({METHODS})(?![\w<(]|\s*\()", r".\1()"),)),
    Rewrite("use the names that C++ has for it",
            frozenset({"no-member", "type-not-allowed", "argument-count", "no-overload", "undefined-identifier", "syntax"}),
            PYTHON_S, everywhere=True),
    Rewrite("take it of the tuple, whose parts have no names", frozenset({"no-member"}),
            tuple((rf"((?:torch::|at::)?\b{PAIRS}\([^;]*?\))\.{part}\b(?!\()", rf"std::get<{n}>(\1)")
                  for n, part in enumerate(("values", "indices")))),
    Rewrite("take out the dot that names no member", frozenset({"syntax"}),
            ((r"(?<=[A-Za-z_)\]])\.(?=\s*[-+*/%|&^]?=|\s*[;,)])", ""),)),
    Rewrite("write the signs of C", frozenset({"stray-character", "syntax"}),
            tuple((re.escape(sign), meant) for sign, meant in LOOKS.items()), everywhere=True),
    Rewrite("keep the backslash for C", frozenset({"open-quote", "stray-character"}),
            ((r"(?<!\\)\\(?=[nt][^\"]*\")", r"\\\\"),), everywhere=True),
    Rewrite("name the device as C++ does", frozenset({"no-conversion", "argument-type"}),
            ((r"[\"']cuda[\"']", "torch::kCUDA"), (r"\"cpu\"", "torch::kCPU")), says=r"c10::Device"),
    Rewrite("name the lanes that take part: all of the warp", frozenset({"undefined-identifier", "undefined-in-device"}),
            ((MASKS, r"\1_sync(0xffffffff, "),), everywhere=True, says=MASKS.partition(r"\s")[0]),
)  # fmt: skip


def rewrite_refused(found: Diagnostic) -> Iterator[Fix]:
    """Yield the rewrites of what a message is about."""
    for one in REWRITES:
        if found.kind in one.kinds and found.says(one.says):
            here = list(_edits(found.source, found.line, one))
            lines = _lines(found.source) if one.everywhere and (here or one.says) else ()
            edits = [edit for line in lines for edit in _edits(found.source, line, one)]
            yield from fix(one.label, edits or here)


def _lines(source: Source) -> list[int]:
    """Return the lines of the C++ and CUDA texts."""
    found: set[int] = set()
    for unit in units(source):
        found.update(range(unit.place_line(1).line, unit.place_line(len(unit.lines)).line + 1))
    return sorted(found)


def _edits(source: Source, line: int, one: Rewrite) -> Iterator[Edit]:
    """Yield the edit of a line that these patterns change, comments left alone."""
    code = source.lines[line - 1].split("//")[0] if 0 < line <= len(source.lines) else ""
    new = code
    for pattern, words in one.patterns:
        new = re.sub(pattern, words, new)
    if new != code:
        start = source.positions.offset(line, 0)
        yield Edit(start=start, end=start + len(code), text=new)
