"""Blank out what host compilers must not see in CUDA text: device bodies and device assembly.

Lines keep their numbers: clang's host pass then reports only host errors, at the submission's own lines, and nvcc alone
checks device code.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_TOKEN = re.compile(
    r"""
    (?P<comment>//[^\n]*(?:\\\n[^\n]*)*|/\*.*?\*/)
  | (?P<raw>R"(?P<delimiter>[^()\\\s]{0,16})\(.*?\)(?P=delimiter)")
  | (?P<string>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')
  | (?P<directive>(?<![^\n])[ \t]*\#(?:[^\n\\]|\\\n|\\.)*)
  | (?P<word>[A-Za-z_]\w*)
  | (?P<number>\d(?:[\w.']|[eEpP][+-])*)
  | (?P<punct>[(){}\[\];,<>=:~])
    """,
    re.VERBOSE | re.DOTALL,
)
_INSIDE_DIRECTIVES = re.compile(
    _TOKEN.pattern.replace(r"(?P<directive>", r"(?P<directive>(?!)"), re.VERBOSE | re.DOTALL
)
_DEFINE = re.compile(r"[ \t]*#[ \t]*define[ \t]+(\w+)(?!\()[ \t]+(.*)", re.DOTALL)
_CONDITION = re.compile(r"[ \t]*#[ \t]*(if|ifdef|ifndef|elif|elifdef|elifndef|else|endif)\b")
_OPEN, _CLOSE = {"(": ")", "[": "]", "{": "}"}, {")", "]", "}"}

Token = tuple[str, str, int, int]
"""Kind, text, start offset, end offset."""


def tokens(text: str, pattern: re.Pattern[str] = _TOKEN) -> Iterator[Token]:
    """Yield the tokens that matter for finding declarations; comments are left out."""
    for match in pattern.finditer(text):
        kind = match.lastgroup or ""
        if kind == "delimiter":
            kind = "raw"
        if kind != "comment":
            yield kind, match.group(), match.start(), match.end()


def _qualifier_macros(stream: list[Token]) -> dict[str, set[str]]:
    """Return object-like macros of the text whose replacement names CUDA qualifiers."""
    macros: dict[str, set[str]] = {}
    for kind, text, _, _ in stream:
        if kind != "directive" or not (match := _DEFINE.match(text)):
            continue
        words = set(re.findall(r"\w+", match.group(2)))
        found = words & {"__global__", "__device__", "__host__", "constexpr"}
        for word in words:
            found |= macros.get(word, set())
        if found & {"__global__", "__device__"}:
            macros[match.group(1)] = found
    return macros


_KNOWN = {
    "__global__": {"__global__"},
    "__device__": {"__device__"},
    "__host__": {"__host__"},
    "constexpr": {"constexpr"},
    "consteval": {"constexpr"},
    "C10_DEVICE": {"__device__"},
    "C10_HOST_DEVICE": {"__device__", "__host__"},
    "C10_HOST": {"__host__"},
    "GPU_LAMBDA": {"__device__", "__host__"},
}


class _Scanner:
    """One pass over the tokens; remembers the qualifiers of the declaration that it is in."""

    def __init__(self, text: str, pattern: re.Pattern[str] = _TOKEN) -> None:
        self.stream = list(tokens(text, pattern))
        self.meaning = {**_KNOWN, **_qualifier_macros(self.stream)}
        self.bodies: list[tuple[int, int]] = []
        self.constructors: list[tuple[int, int]] = []
        self.lambdas = False

    def close_of(self, index: int) -> int:
        """Return the index of the token that closes the bracket at `index`, or the last one.

        Of the branches of a conditional directive, each starts from the depth at its `#if`.
        """
        depth, saved = 0, []
        for at in range(index, len(self.stream)):
            kind, text, _, _ = self.stream[at]
            if kind == "directive" and (match := _CONDITION.match(text)):
                word = match.group(1)
                if word.startswith("if"):
                    saved.append(depth)
                elif word == "endif":
                    saved = saved[:-1]
                elif saved:
                    depth = saved[-1]
            elif kind == "punct" and text in _OPEN:
                depth += 1
            elif kind == "punct" and text in _CLOSE:
                depth -= 1
                if depth == 0:
                    return at
        return len(self.stream) - 1

    def scan(self) -> None:
        """Collect the spans between the braces of device-only bodies; of constructors, from their initialisers on."""
        index, qualifiers, last = 0, set[str](), ""
        while index < len(self.stream):
            kind, text, _, end = self.stream[index]
            if kind == "word":
                found = self.meaning.get(text, set())
                if last == "]" and found & {"__device__"}:
                    self.lambdas = True
                qualifiers |= found
            elif text in {"(", "["} and qualifiers & {"__global__", "__device__"}:
                index = self.close_of(index)
                text = self.stream[index][1]
            elif text == "{":
                close = self.close_of(index) if self._is_device_body(qualifiers, index) else index
                if self.stream[close][1] == "}":
                    self.bodies.append((end, self.stream[close][2]))
                    index, text = close, "}"
                qualifiers = set()
            elif text == ":" and last == ")" and self._runs_on_devices_alone(qualifiers):
                close = self._end_of_constructor(index)
                if self.stream[close][1] == "}":
                    self.constructors.append((self.stream[index][2], self.stream[close][3]))
                    index, text = close, "}"
                qualifiers = set()
            elif text in {";", "}"}:
                qualifiers = set()
            if kind != "directive":
                last = text
            index += 1

    def _is_device_body(self, qualifiers: set[str], index: int) -> bool:
        """Whether the brace at `index` opens the body of a function that only devices run."""
        if "__global__" in qualifiers:
            return True
        if not self._runs_on_devices_alone(qualifiers):
            return False
        before = next((t for t in reversed(self.stream[:index]) if t[0] != "directive"), None)
        return before is not None and (
            before[1] == ")" or before[1] in {"const", "noexcept", "override", "final"}
        )

    @staticmethod
    def _runs_on_devices_alone(qualifiers: set[str]) -> bool:
        return "__device__" in qualifiers and not qualifiers & {"__host__", "constexpr"}

    def _end_of_constructor(self, index: int) -> int:
        """Return the index of the brace that closes a constructor's body, from the `:` of its initialisers."""
        last = ""
        while index < len(self.stream) - 1 and last != ";":
            text = self.stream[index][1]
            close = self.close_of(index) if text in {"(", "{"} else index
            if text == "{" and last in {")", "}"}:
                return close
            index, last = close + 1, self.stream[close][1]
        return index


_PRAGMA = re.compile(r"[ \t]*#[ \t]*pragma\b")
_BLANK = re.compile(r"(?!\\\n)[^\n]")


def _spaces(text: str) -> str:
    """Return the text with everything but line ends and directives turned into spaces.

    Pragmas go as well: `#pragma unroll` stands before a loop that is no longer there.
    """
    kept: list[str] = []
    position = 0
    for kind, directive, start, end in tokens(text):
        if kind == "directive" and not _PRAGMA.match(directive):
            kept += [_BLANK.sub(" ", text[position:start]), text[start:end]]
            position = end
    kept.append(_BLANK.sub(" ", text[position:]))
    return "".join(kept)


def blank_device_bodies(text: str) -> str:
    """Return CUDA text in which bodies of `__global__` and device-only functions are empty.

    Lines and columns of the remaining text stay; preprocessor directives inside bodies are kept, and macros that define
    kernels are emptied in the same way. Bodies of `__host__ __device__` and `constexpr` functions stay, since host code
    may need them.
    """
    scanner = _Scanner(text)
    scanner.scan()
    spans = [(start, end, _spaces(text[start:end])) for start, end in scanner.bodies]
    for start, end in scanner.constructors:
        # Only declared: an empty constructor would leave references and constants of the class uninitialised.
        spans.append((start, end, _spaces(text[start : end - 1]) + ";"))
    for kind, directive, start, end in scanner.stream:
        if kind == "directive" and _MACRO_BODY.search(directive):
            spans.append((start, end, _blank_macro(directive)))
    parts: list[str] = []
    position = 0
    for start, end, replacement in sorted(spans):
        if start >= position:
            parts += [text[position:start], replacement]
            position = end
    parts.append(text[position:])
    return "".join(parts)


_MACRO_BODY = re.compile(r"#[ \t]*define\b.*__(?:global|device)__.*\{", re.DOTALL)


def _blank_macro(directive: str) -> str:
    scanner = _Scanner(directive, _INSIDE_DIRECTIVES)
    scanner.scan()
    for start, end in reversed(scanner.bodies):
        directive = directive[:start] + _BLANK.sub(" ", directive[start:end]) + directive[end:]
    return directive


def has_device_lambda(text: str) -> bool:
    """Whether the text has an extended lambda, whose kernel names only nvcc can make."""
    scanner = _Scanner(text)
    scanner.scan()
    return scanner.lambdas


def without_assembly(text: str) -> str:
    """Return the text with every `asm(...)` emptied, in macros as well, for CUDA's own headers."""
    stream = list(tokens(text, _INSIDE_DIRECTIVES))
    parts: list[str] = []
    position = 0
    for index, (kind, word, start, _) in enumerate(stream):
        if kind != "word" or word not in {"asm", "__asm__", "__asm"} or start < position:
            continue
        opening = index + 1
        while stream[opening][1] in {"volatile", "__volatile__"}:
            opening += 1
        depth = 0
        for _, mark, _, stop in stream[opening:]:
            depth += (mark == "(") - (mark == ")")
            if depth == 0:
                parts += [text[position:start], _BLANK.sub(" ", text[start:stop])]
                position = stop
                break
    parts.append(text[position:])
    return "".join(parts)
