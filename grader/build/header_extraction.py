"""Extraction of torch's declarations from its own headers, for the device pass.

nvcc reads torch's headers in 26 seconds, but only the declarations that a submission names in half a second. They are
taken verbatim, so overloads, defaults and dispatch macros are this torch's own.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

Declarations = dict[str, list[str]]

_METHOD = re.compile(
    r"^  (?!static|using|friend|explicit|return|template|typedef)"
    r"((?:const )?[\w:<>, ]+?[ &]+)(\w+)\((.*)\) const( &)?;$",
    re.MULTILINE,
)
_FUNCTION = re.compile(r"^inline ((?:const )?[\w:<>, ]+?[ &]+)(\w+)\((.*)\) \{$", re.MULTILINE)
_DEFINE = re.compile(r"^#define (\w+)(?:\\\n|[^\n])*$", re.MULTILINE)
_SCALAR_ROW = re.compile(r"_\(\s*([\w:<> ]+?),\s*(\w+)\)\s*(?:/\* (\d+) \*/)?")
_OWN_MACROS = {
    "AT_DISPATCH_CASE",
    "AT_DISPATCH_SWITCH",
    "AT_PRIVATE_CASE_TYPE_USING_HINT",
    "AT_PRIVATE_CHECK_SELECTIVE_BUILD",
    "RECORD_KERNEL_FUNCTION_DTYPE",
}
_OPAQUE = re.compile(r"\bc10::(?:q|quint|bits|dummy|Float[48])\w*(?:<\d>)?")


def _first_existing(include: Path, *names: str) -> str:
    """Return the joined text of those headers that exist."""
    paths = [include / name for name in names]
    return "\n".join(p.read_text("utf-8", "replace") for p in paths if p.is_file())


def methods(include: Path) -> Declarations:
    """Return the declarations of at::Tensor's generated methods, by name."""
    found: Declarations = defaultdict(list)
    for match in _METHOD.finditer(_first_existing(include, "ATen/core/TensorBody.h")):
        found[match.group(2)].append(match.group().strip())
    return dict(found)


def functions(include: Path) -> Declarations:
    """Return the declarations of the functions in namespace at, by name."""
    found: Declarations = defaultdict(list)
    for path in sorted((include / "ATen" / "ops").glob("*.h")):
        if path.stem.endswith(("_native", "_dispatch", "_ops", "_meta")):
            continue
        for match in _FUNCTION.finditer(path.read_text("utf-8", "replace")):
            result, name, parameters = match.groups()
            if "symint" not in name:
                found[name].append(f"{result}{name}({parameters});")
    return dict(found)


def factories(include: Path) -> Declarations:
    """Return the declarations of torch's own factory functions, by name."""
    text = _first_existing(include, "torch/csrc/autograd/generated/variable_factories.h")
    found: Declarations = defaultdict(list)
    for match in _FUNCTION.finditer(text):
        result, name, parameters = match.groups()
        if "symint" not in name:
            found[name].append(f"{result}{name}({parameters});")
    return dict(found)


def dispatch_macros(include: Path) -> str:
    """Return this torch's AT_DISPATCH macros, without the few primitives that the stub has."""
    text = _first_existing(
        include,
        "ATen/Dispatch.h",
        "ATen/Dispatch_v2.h",
        "torch/headeronly/core/Dispatch_v2.h",
    )
    rows = [match.group() for match in _DEFINE.finditer(text) if match.group(1) not in _OWN_MACROS]
    return "\n".join(rows) + "\n"


def scalar_types(include: Path) -> str:
    """Return the enumeration of element types, their names, and their C++ types."""
    text = _first_existing(include, "torch/headeronly/core/ScalarType.h") or _first_existing(
        include, "c10/core/ScalarType.h"
    )
    block = re.search(
        r"#define AT_FORALL_SCALAR_TYPES_WITH_COMPLEX_AND_QINTS\(_\)((?:.*\\\n)*.*)", text
    )
    rows = _SCALAR_ROW.findall(block.group(1)) if block else []
    names = ", ".join(f"{name} = {number or at}" for at, (_, name, number) in enumerate(rows))
    out = [f"enum class ScalarType : int8_t {{ {names}, Undefined = {len(rows)} }};"]
    out += [f"constexpr ScalarType k{name} = ScalarType::{name};" for _, name, _ in rows]
    out.append("std::ostream &operator<<(std::ostream &, ScalarType);")
    out.append("const char *toString(ScalarType);")
    out.append("namespace impl { template <ScalarType> struct ScalarTypeToCPPType; }")
    out.append("template <class> struct CppTypeToScalarType;")
    for kind, name, _ in rows:
        if not _OPAQUE.search(kind):
            out.append(
                f"template <> struct impl::ScalarTypeToCPPType<ScalarType::{name}> "
                f"{{ using type = {kind}; }};"
            )
            out.append(
                f"template <> struct CppTypeToScalarType<{kind}> : "
                f"std::integral_constant<ScalarType, ScalarType::{name}> {{}};"
            )
    return "\n".join(out) + "\n"


_CONDITIONAL = re.compile(r"^[ \t]*#[ \t]*(?:if|ifdef|ifndef|elif)\b(.*(?:\\\n.*)*)", re.MULTILINE)


def texts(headers: Iterable[Path]) -> dict[Path, str]:
    """Return the text of each of these headers that exists."""
    return {path: path.read_text("utf-8", "replace") for path in headers if path.is_file()}


def condition_names(headers: Iterable[str]) -> list[str]:
    """Return every name in these headers' conditional directives.

    A `-D` of one of them would change the precompiled headers, so such a build uses the plain compilers.
    """
    names: set[str] = set()
    for text in headers:
        for match in _CONDITIONAL.finditer(text):
            names.update(_WORD.findall(match.group(1)))
    return sorted(names)


_WORD = re.compile(r"[A-Za-z_]\w*")
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)


def words(headers: Iterable[str]) -> list[str]:
    """Return every identifier in these headers, outside comments.

    A name that isn't among them can't be declared by any of them.
    """
    found: set[str] = set()
    for text in headers:
        found.update(_WORD.findall(_COMMENT.sub(" ", text)))
    return sorted(found)


_MACRO = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)", re.MULTILINE)
_TOKEN = re.compile(r"\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])'|[A-Za-z_]\w*|[{}();*&]")
_DIRECTIVE = re.compile(r"^#.*", re.MULTILINE)


def macros(headers: Iterable[str]) -> set[str]:
    """Return the names of every macro that these headers define."""
    return {name for text in headers for name in _MACRO.findall(text)}


def global_words(preprocessed: str) -> set[str]:
    """Return the words in the global scope, which may be declared there.

    Words between the braces of a namespace, a class or a function are excluded; enumerators are included.
    """
    found: set[str] = set()
    statement: list[str] = []
    scopes = [True]
    for piece in _TOKEN.findall(_DIRECTIVE.sub("", preprocessed)):
        if piece not in {"{", "}", ";"}:
            if scopes[-1]:
                statement.append(piece)
            continue
        found.update(_declared_words(statement))
        if piece == "{":
            scopes.append(scopes[-1] and _is_see_through(statement))
        elif piece == "}" and len(scopes) > 1:
            scopes.pop()
        statement = []
    return found


def _is_see_through(statement: list[str]) -> bool:
    """Whether names between the braces after this belong to the scope around them."""
    if "namespace" in statement:
        return statement == ["namespace"] or "inline" in statement
    return statement == ["extern", '"C"'] or "enum" in statement


def _declared_words(statement: list[str]) -> Iterator[str]:
    """Yield the words of a statement without its parameters; `(*name` and `(name)` in parentheses are not parameters."""
    depth = 0
    for at, piece in enumerate(statement):
        depth += (piece == "(") - (piece == ")")
        before, after = statement[max(at - 2, 0) : at], statement[at + 1 : at + 2]
        inner = before[-1:] in (["*"], ["&"]) and before[:1] == ["("]
        alone = before[-1:] == ["("] and after == [")"]
        if piece[0].isidentifier() and (depth == 0 or inner or alone):
            yield piece
