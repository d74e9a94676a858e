"""Errors of the quick compilers that are certain, so that no stock compiler need run.

A stock compiler reads torch's headers for half a minute to report the same. These are certain:

- a name that stands in no header that the file could have seen: what we compile with has fewer names;
- a header that is not there;
- a slip of C++'s own grammar or types, on lines that nothing of torch's takes part in;
- a line that two front ends refuse: the stock one's over our stub of torch, and clang over torch's own
  declarations. Not for what other headers might add to clang's part of them: free names and macros.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from grader.build.driver.command import Command
from grader.build.driver.comments import without_comments
from grader.build.driver.config import Config
from grader.build.header_extraction import global_words

_ERROR = re.compile(
    r"^(?P<file>[^\s(:]+)(?:\((?P<at>\d+)\)|:(?P<line>\d+)(?::\d+)?): (?:catastrophic |fatal )?"
    r"error(?: #[\w-]+)?: (?P<text>.*)",
    re.MULTILINE,
)
_UNKNOWN = re.compile(
    r"""(?x) identifier \s "(\w+)" \s is \s undefined
    | has \s no \s member \s "(\w+)"
    | "(\w+)" \s has \s not \s been \s declared
    | ['\u2018](\w+)['\u2019] \s (?:was \s not \s declared|has \s not \s been \s declared|is \s not \s a \s member
        |does \s not \s name \s a)
    | has \s no \s member \s named \s ['\u2018](\w+)['\u2019]"""
)
_FREE = re.compile(r"identifier \"\w+\" is undefined|was not declared in this scope")
_OPENS_A_NAMESPACE = re.compile(
    r"using\s+namespace|namespace\s+(?:std|at|torch|c10|caffe2|pybind11|cuda|cub|thrust|nvcuda)\b[^=;]*\{"
    r"|\b(?:struct|class)\s+\w+\s*(?:final\s*)?:(?!:)"
)
"""Constructs that extend the lookup of an unqualified name beyond the global scope."""
_INCLUDED = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.MULTILINE)
_COMPUTED = re.compile(r"^\s*#\s*include\s+[A-Za-z_]", re.MULTILINE)
_MACRO = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)", re.MULTILINE)
_OF_A_CLASS = re.compile(
    r"class \"[^\"]+\" has no member|['\u2018](?:class|struct) [^'\u2019]+['\u2019] has no member named"
    r"|no member named '\w+' in '"
)
_OPEN = re.compile(
    r"undeclared identifier|unknown type name|in namespace|in the global namespace|no template named"
    r"|no type named|expected namespace name|incomplete type|undefined template|undeclared"
    r"|followed by \"::\"|not a template|invalid operands|no operator \""
)
"""Errors that a header which clang did not read might fix."""
_OF_CUDA = re.compile(
    r"class \"(?:const )?(?:dim3|u?(?:char|short|int|long|longlong)[1-4]|(?:float|double)[1-4])\" has no member"
)
"""CUDA's own vectors, which no header of torch's extends: `blockIdx.w`."""
_GRAMMAR = re.compile(r"expected|storage class|type specifier|does not name a type")
_EXPECTED = re.compile(r"expected (?:an? )?(?:[\"'].{1,3}[\"']|expression|identifier|declaration)")
_ARGUMENTS = re.compile(r"too (?:few|many) arguments in function call")
_CALLED = re.compile(r"\b([A-Za-z_]\w*)\s*(?:<[^<>;()]*>\s*)?\(")
_QUOTED = re.compile(r'"([^"]*)"')
_PLAIN_TYPE = re.compile(
    r"(?:(?:const|volatile|unsigned|signed|long|short|int|char|bool|float|double|void|float[234]|int[234]"
    r"|__restrict__|dim3|\*|&|\[\w*\])\s*)+"
)
_INDEX = re.compile(r"\b(?:blockIdx|threadIdx|blockDim|gridDim)\s*\.\s*[xyz]\b")
_MEMBER = re.compile(r"::|->|(?<!\d)\.\s*[A-Za-z_]")
_MISSING_FILE = re.compile(r"fatal error: (\S+): No such file or directory")


@dataclass(frozen=True)
class Error:
    """A compiler's error in the file that it compiled."""

    line: int
    text: str


def sure(config: Config, command: Command, log: str, *, stub: bool) -> bool:
    """Whether the first error must occur with all of the real headers as well.

    With real declarations (not `stub`) every error is certain except one about names.
    """
    missing = _MISSING_FILE.search(log)
    if missing:
        return _find(config, command, missing.group(1)) is None
    error = first(log, command)
    if error is None:
        return False
    if "no suitable conversion" in error.text and "DeprecatedTypeProperties" in error.text:
        return not config.dispatch_takes_type
    if _OF_CUDA.search(error.text):
        return True
    unknown = _UNKNOWN.search(error.text)
    if unknown is None and stub:
        return _is_plain(config, command, error)
    if unknown is None:
        return 'followed by "::"' not in error.text
    return _nowhere(config, command, error, next(group for group in unknown.groups() if group))


def does_clang_agree(config: Config, command: Command, log: str, clang: str) -> bool:
    """Whether clang, over torch's own declarations, refuses the line of the first error as well."""
    error = first(log, command)
    other = [e.text for e in _errors(clang, command) if error and e.line == error.line]
    if error is None or not other:
        return False
    texts = [error.text, other[0]]
    if any(_is_open(text) for text in texts):
        return False
    grammar = any(_GRAMMAR.search(text) for text in texts)
    return not (grammar and _has_macros(config, command, _near(command, error)))


def _is_plain(config: Config, command: Command, error: Error) -> bool:
    """Whether the error is in plain C++, independent of torch's declarations."""
    near = _near(command, error)
    if _has_macros(config, command, near):
        return False
    statement = [line for line in near[:-1] if not line.rstrip().endswith((";", "{", "}"))]
    code = "\n".join([*statement, *near[-1:]])
    if _ARGUMENTS.match(error.text):
        return _calls_own_only(config, command, code)
    member = _MEMBER.search(_INDEX.sub("", code))
    types = _QUOTED.findall(error.text)
    plain = types and all(_PLAIN_TYPE.fullmatch(one) for one in types)
    return bool(_EXPECTED.match(error.text) or (plain and not member))


def _calls_own_only(config: Config, command: Command, code: str) -> bool:
    """Whether all called functions are the file's own, with names that no header has."""
    own = Path(command.sources[0]).read_text("utf-8", "replace")
    called = set(_CALLED.findall(code))
    defined = all(re.search(rf"[\w>&*]\s+{name}\s*\(", own) for name in called)
    return bool(called) and defined and called.isdisjoint(_words(config))


def _near(command: Command, error: Error) -> list[str]:
    """Return the error's line and the two before it."""
    own = Path(command.sources[0]).read_text("utf-8", "replace").splitlines()
    return own[max(error.line - 3, 0) : error.line]


def _has_macros(config: Config, command: Command, lines: list[str]) -> bool:
    """Whether these lines may contain a macro of torch's headers."""
    own = Path(command.sources[0]).read_text("utf-8", "replace")
    macros = _words(config, "macros.txt")
    macros.update(
        name
        for text in _other_torch_includes(config, command, own)
        for name in _MACRO.findall(text)
    )
    return any(word in macros for line in lines for word in re.findall(r"[A-Za-z_]\w*", line))


def first(log: str, command: Command) -> Error | None:
    """Return the first error, if it is in the compiled file."""
    found = _ERROR.search(log)
    return next(_errors(found.group(), command), None) if found else None


def _errors(log: str, command: Command) -> Iterator[Error]:
    for match in _ERROR.finditer(log):
        if Path(match["file"]).name == Path(command.sources[0]).name:
            yield Error(int(match["at"] or match["line"]), match["text"])


def _is_open(text: str) -> bool:
    """Whether the error is about a name that another header might declare."""
    if _OF_A_CLASS.search(text):
        return False
    return bool(_UNKNOWN.search(text) or _OPEN.search(text))


def _words(config: Config, name: str = "words.txt") -> set[str]:
    return set(Path(config.path(name)).read_text("utf-8").split("\n"))


def _nowhere(config: Config, command: Command, error: Error, name: str) -> bool:
    """Whether none of the headers that the file includes can declare this name where it is used."""
    own = Path(command.sources[0]).read_text("utf-8", "replace")
    free = _FREE.search(error.text) is not None and _sees_global_scope_only(own, name)
    words = _words(config, "globals.txt" if free else "words.txt")
    if name in words or "##" in own:
        return False
    return not any(
        _declares(text, name, free=free) for text in _other_torch_includes(config, command, own)
    )


def _sees_global_scope_only(own: str, name: str) -> bool:
    """Whether an unqualified use of the name finds nothing in namespaces or classes of headers."""
    called = re.search(rf"\b{name}\s*(?:<[^;<>]*>\s*)?\(", own)  # by its arguments' namespaces
    return not called and not _OPENS_A_NAMESPACE.search(own)


def _other_torch_includes(config: Config, command: Command, own: str) -> Iterator[str]:
    """Yield the file's includes of torch, beside the headers whose words were gathered.

    Other headers were also available to the compiler over the stub.
    """
    folders = config.torch_includes
    asked = [h for h in _INCLUDED.findall(own) if any(Path(f, h).is_file() for f in folders)]
    seen = _words(config, "headers.txt")
    while asked:
        header = asked.pop()
        path = None if header in seen else _find(config, command, header)
        seen.add(header)
        if path is not None:
            yield (text := path.read_text("utf-8", "replace"))
            includes = _INCLUDED.findall(text)
            asked += [*includes, *(str(path.parent / near) for near in includes)]


def _declares(text: str, name: str, *, free: bool) -> bool:
    """Whether a header's text may declare the name: `free`, in the global scope."""
    plain = without_comments(text.replace("\\\n", " "))
    if _COMPUTED.search(plain):
        return True
    if not re.search(rf"\b{name}\b", plain):
        return False
    if not free or plain.count("{") != plain.count("}"):
        return True
    return name in _MACRO.findall(plain) or name in global_words(plain)


def _find(config: Config, command: Command, name: str) -> Path | None:
    folders = [*command.includes, *command.system_includes, *config.library_includes]
    folders += [*config.torch_includes, *config.cuda_includes, *config.system_includes]
    paths = (Path(folder, name) for folder in folders)
    return next((path for path in paths if path.is_file()), None)
