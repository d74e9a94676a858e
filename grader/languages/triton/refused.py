"""Errors of Triton's compiler as evidence at the refused line."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass

from grader.languages.language import CompilerException
from grader.languages.triton.reading import FILE, read
from grader.records import Evidence, Place, ToolMessage
from grader.source import Source

_SHOWN = 12
"""Lines of a function, up to the refused one, that Triton shows in its message."""
_AT = re.compile(
    r"(?:^|\n)(?:\w+\.)*(?P<kind>[A-Z]\w+): at (?P<line>\d+):(?P<column>\d+):\n", re.ASCII
)
_CARET = re.compile(r"^ *\^$")
_NEXT = re.compile(r"\n(?:\n(?:The above exception|During handling)|Traceback \(most recent)")
_OF_MLIR = re.compile(
    rf"(?:^|\n)\S*?{re.escape(FILE)}\"?:(?P<line>\d+):(?P<column>\d+)\)?: error: (?P<said>[^\n]+)"
)
_IN_THE_COMPILER = re.compile(r"^RuntimeError: (?:error encountered during parsing|PassManager)")
_UNRESOLVED = re.compile(
    r"^(?:PTXASError: .*Unresolved extern function '|RuntimeError: Unsupported function referenced: <(?P<kind>function|built-in \w+) )(?P<name>\w+)", re.DOTALL
)  # fmt: skip
_QUOTED = re.compile(r"""^[A-Z]\w*(?:Error|Failure)?\((["'])(?P<said>.*)\1,?\)$""", re.DOTALL)
MOST = 4000
"""Characters of a message that determine its kind; the rest quotes the author's text."""
_CODES = (
    ("dot-shapes", r"reduction dim|shapes? .*\bdot\b|[Ii]nput shapes should|Both inputs must be"),
    ("loop-carried-type", r"[Ll]oop-carried variable|initial value for .* is of type"),
    ("power-of-two", r"power of (?:2|two)"),
    ("index-of-block", r"unsupported tensor index|__setitem__"),
    ("other-types", r"Expected dtype \[|must be same dtype|must have the same dtype"),
    ("other-kind", r"_semantic. argument must be|invalid axis|create_reduce|'(?:float|int|str|constexpr_type)' object has no attribute"),
    ("other-arguments", r"missing (?:a|\d+) required|'int' object is not iterable"),
    ("type-called", r"'dtype' object is not callable"),
    ("choice-by-block", r"Boolean value of Tensor|Ternary expression with dynamic condition"),
    ("global-of-module", r"Cannot access global variable"),
    ("foreign-function", r"must be (?:Tensor|real number), not tensor|'torch\.dtype' object"),
    ("other-parameters", r"unexpected keyword argument"),
    ("not-constexpr", r"must (?:be|have)\b.*constexpr"),
    ("mask-type", r"1-bit signless|[Mm]ask (?:argument|must)"),
    ("incompatible-shapes", r"incompatible dimensions|make_shape_compatible|[Cc]annot broadcast|must be broadcast"),
    ("unsupported-type", r"not supported in this architecture|[Uu]nsupported (?:ptr )?type|[Uu]nsupported cast|type .* not supported"),
    ("undefined-name", r"is not defined|has no attribute|NameError"),
    ("static-assertion", r"static_assert"),
    ("unsupported-construct", r"unsupported AST node|UnsupportedLanguageConstruct|NotImplemented"),
    ("pointer-type", r"pointer|ptr type"),
)  # fmt: skip
"""Kinds of refusals by pattern, the first match counts."""


@dataclass(frozen=True)
class _Refusal:
    """One exception of the compiler, or one message of its passes."""

    kind: str
    line: int
    """Line of the compiled function, from its `def` on, or of the whole program without an excerpt."""
    column: int
    excerpt: tuple[str, ...]
    said: str


def diagnose(raised: CompilerException, source: Source) -> Evidence | None:
    """Return the compiler's error; None for another exception.

    In a chain of exceptions the innermost has the reason, and the innermost in the author's own text has the place.
    """
    found = list(_refusals(raised))
    if not found:
        return _unresolved_function(raised, source)
    places = (_place(one, source) for one in found)
    place = next((one for one in places if one is not None), None)
    said = " ".join(found[0].said.split())
    return Evidence(
        kind="compiler",
        code=_code(found[0]),
        text=f"Triton: {said.rstrip('.')}.",
        place=place,
        details=ToolMessage(
            said=found[0].said, tool="triton", file=FILE, line=place.line if place else 0
        ),
    )


def _unresolved_function(raised: CompilerException, source: Source) -> Evidence | None:
    """Return the unlinked or host-only function, at its call in a kernel."""
    found = _UNRESOLVED.match(raised.reason)
    if found is None:
        return None
    reading = read(source)
    kernels = reading.functions if reading else ()
    called = (node.func for one in kernels for node in ast.walk(one) if isinstance(node, ast.Call))
    named = (one for one in called if source.text(one).rpartition(".")[2] in found["name"])
    node = max(named, key=lambda one: len(source.text(one)), default=None)
    said = (
        f"there is no function `{found['name']}` for {'kernels' if found['kind'] else 'this GPU'}"
    )
    place = source.place(node) if node else None
    codes = {None: "foreign-library", "function": "global-of-module"}
    return Evidence(
        kind="compiler",
        code=codes.get(found["kind"], "foreign-function"),
        text=f"Triton: {said}.",
        place=place,
        details=ToolMessage(said=said, tool="triton", file=FILE, line=place.line if place else 0),
    )


def _refusals(raised: CompilerException) -> Iterator[_Refusal]:
    """Yield the refusals, the innermost first."""
    if _IN_THE_COMPILER.match(raised.reason):
        for found in _OF_MLIR.finditer(raised.log):
            at = int(found["line"]), int(found["column"]) - 1
            yield _Refusal("RuntimeError", *at, (), found["said"])
        return
    if " at " not in raised.reason.partition("\n")[0]:
        return
    traced = raised.traceback if _AT.search(raised.traceback) else raised.reason
    for found in _AT.finditer(traced):
        end = min((m.start() for m in (_NEXT.search(traced, found.end()),) if m), default=None)
        yield _taken_apart(found, traced[found.end() : end])


def _taken_apart(found: re.Match[str], text: str) -> _Refusal:
    lines = text.splitlines()
    caret = next((i for i, line in enumerate(lines) if _CARET.match(line)), len(lines))
    said = "\n".join(lines[caret + 1 :]).strip()
    quoted = _QUOTED.match(said)
    words = quoted["said"] if quoted else said
    return _Refusal(
        found["kind"], int(found["line"]), int(found["column"]), tuple(lines[:caret]), words or found["kind"]
    )  # fmt: skip


def _code(refusal: _Refusal) -> str:
    if refusal.kind == "CompileTimeAssertionFailure":
        return "static-assertion"
    text = f"{refusal.kind}: {refusal.said}"[:MOST]
    return next((code for code, pattern in _CODES if re.search(pattern, text)), "refused")


def _place(refusal: _Refusal, source: Source) -> Place | None:
    if not refusal.excerpt:
        known = refusal.kind == "RuntimeError" and 1 <= refusal.line <= len(source.lines)
        return _expression(source, refusal.line, refusal.column) if known else None
    reading = read(source)
    for function in reading.functions if reading else ():
        lines = source.lines[function.lineno - 1 : function.end_lineno]
        plain = textwrap.dedent("\n".join(lines)).split("\n")[: refusal.line]
        if tuple(line.rstrip() for line in plain[-_SHOWN:]) == tuple(
            line.rstrip() for line in refusal.excerpt
        ):
            line = function.lineno + refusal.line - 1
            return _expression(source, line, refusal.column + function.col_offset)
    return None


def _expression(source: Source, line: int, column: int) -> Place:
    """Return the place of the longest expression that starts there, or else of the line."""
    starting = (
        node for node in source.walk(ast.expr) if (node.lineno, node.col_offset) == (line, column)
    )
    longest = max(starting, key=lambda n: (n.end_lineno or 0, n.end_col_offset or 0), default=None)
    return source.place(longest) if longest is not None else source.line_place(line)
