"""A build's log to evidence: what the compilers said, in their words, at the submission's lines."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from grader.languages import place_compiled_line
from grader.records import Evidence, EvidenceKind, KernelResources, Place, ToolMessage
from grader.source import Source


@dataclass(frozen=True)
class Message:
    """One diagnostic as a tool printed it."""

    kind: EvidenceKind
    severity: str
    """`error` or `warning`."""
    text: str
    file: str = ""
    line: int = 0
    column: int = 0
    """1-based; 0 where the tool gave none."""
    tool: str = ""
    origins: tuple[tuple[str, int], ...] = ()
    """Files and lines that made a header instantiate what failed in it, the innermost first."""


_NVCC = re.compile(
    r"^(?P<file>[^\s(][^(\n]*)\((?P<line>\d+)\): (?:catastrophic )?(?P<severity>error|warning)"
    r"(?: #[\w-]+)?: (?P<text>.*)"
)
_GCC = re.compile(
    r"^(?P<file>[^\s:][^:\n]*):(?P<line>\d+):(?:(?P<column>\d+):)? (?:fatal )?"
    r"(?P<severity>error|warning): (?P<text>.*)"
)
_DETECTED = re.compile(r"\bat line (?P<line>\d+) of \"?(?P<file>[^\s\"]+)")
_REQUESTED = re.compile(
    r"^(?P<file>[^\s:][^:\n]*):(?P<line>\d+):\d+: note: in instantiation of .* requested here"
)
"""What nvcc and clang say after an error in a header."""
_REQUIRED = re.compile(r"^(?P<file>[^\s:][^:\n]*):(?P<line>\d+):\d+: +required from ")
"""What g++ says before one."""
_PTXAS = re.compile(r"^ptxas (?P<severity>error|fatal|warning)\s*: (?P<text>.*)")
_PTXAS_AT = re.compile(
    r"^ptxas (?P<file>\S+), line (?P<line>\d+); (?P<severity>error|fatal|warning)\s*: (?P<text>.*)"
)
_NVCC_ITSELF = re.compile(r"^nvcc (?P<severity>fatal|error|warning)\s*: (?P<text>.*)")
_LINKER = re.compile(
    r"^(?:\S*/)?(?:ld(?:\.lld|\.bfd)?|collect2)(?:\.exe)?: (?:error: )?(?P<text>.*)"
)
_UNDEFINED_REFERENCE = re.compile(r"(?P<text>undefined reference to [`'].*)$")
_UNDEFINED_SYMBOL = re.compile(r"(?P<text>undefined symbol: (?P<symbol>\S+))")
_SHELL = re.compile(
    r"^(?:/bin/)?(?:ba|da)?sh: (?:(?:line )?\d+: )?(?P<tool>[^\s:/]+): (?:command )?not found$"
)
"""Of a compiler that the submission itself asked for: ours are called by their paths."""
_OWN = re.compile(r"^kernel-grader: error: (?P<text>.*)")
_KILLED = re.compile(r"^(?P<text>.*(?:Killed|internal compiler error|virtual memory exhausted).*)")
_ENTRY_FUNCTION = re.compile(r"Entry function '([\w$]+)'")
_LINKER_NOISE = (
    "in function",
    "warning:",
    "defined at",
    "referenced by",
    "ld returned",
    "returned 1",
)
_FOLLOW_UPS = (
    "Error limit reached",
    "too many errors emitted",
    "compilation terminated",
    "Ptx assembly aborted due to errors",
)
_AFTER_OTHERS = "expected a declaration"
"""What a broken grammar leaves behind; alone it is a brace too many."""
_CODES = (
    ("missing-library", r"cannot find -l|unable to find library"),
    ("missing-header", r"No such file or directory|cannot open source file"),
    (
        "undefined-name",
        r"is undefined|was not declared|has not been declared|use of undeclared|has no member",
    ),
    (
        "no-conversion",
        r"no suitable (?:user-defined )?conversion|(?:cannot|could not) convert|invalid conversion",
    ),
    ("no-overload", r"no instance of|no matching function|more than one instance|ambiguous"),
    ("syntax", r"expected (?:an?|['`\u2018]|unqualified)|this declaration has no storage class"),
    ("shared-memory-overflow", r"uses too much shared data"),
    ("too-many-registers", r"too many (?:registers|resources)"),
    ("undefined-symbol", r"undefined (?:symbol|reference)"),
    (
        "redefinition",
        r"redefinition|already (?:been )?defined|has already been declared|multiple definition",
    ),
    ("host-calls-device", r"calling a __(?:device|host)__"),
    (
        "unsupported-architecture",
        r"Value '(?:sm|compute)_\w+' is not defined|Unsupported gpu architecture",
    ),
    ("refused", r"^refused:"),
)


def messages(log: str) -> Iterator[Message]:
    """Yield the diagnostics of a log in its order; notes and follow-ups are left out."""
    others = False
    for message in _with_origins(log):
        if any(text in message.text for text in _FOLLOW_UPS):
            continue
        if not (others and _AFTER_OTHERS in message.text):
            yield message
        others = others or message.severity == "error"


def _with_origins(log: str) -> Iterator[Message]:
    """Yield all diagnostics, each with the places that led to it."""
    held: Message | None = None
    ahead: list[tuple[str, int]] = []
    for line in map(str.rstrip, log.splitlines()):
        if match := _REQUIRED.match(line):
            ahead.append((match["file"], int(match["line"])))
        elif held is not None and (match := _DETECTED.search(line) or _REQUESTED.match(line)):
            here = (match["file"], int(match["line"]))
            held = replace(held, origins=(*held.origins, here))
        elif message := _message(line):
            if held is not None:
                yield held
            held, ahead = replace(message, origins=tuple(ahead)), []
    if held is not None:
        yield held


def _message(line: str) -> Message | None:
    for pattern, tool in ((_NVCC, "nvcc"), (_GCC, "g++")):
        if match := pattern.match(line):
            found = match.groupdict()
            column = int(found.get("column") or 0)
            return Message(
                "compiler",
                found["severity"],
                found["text"],
                found["file"],
                int(found["line"]),
                column,
                tool,
            )
    if match := _PTXAS_AT.match(line) or _PTXAS.match(line):
        severity = "warning" if match.group("severity") == "warning" else "error"
        return Message("ptxas", severity, match.group("text"), tool="ptxas")
    if match := _NVCC_ITSELF.match(line):
        severity = "warning" if match.group("severity") == "warning" else "error"
        return Message("compiler", severity, match.group("text"), tool="nvcc")
    if match := _SHELL.match(line):
        return Message("compiler", "error", f"{match['tool']}: command not found", tool="sh")
    if match := _OWN.match(line):
        return Message("compiler", "error", match.group("text"), tool="kernel-grader")
    return _link_message(line)


def _link_message(line: str) -> Message | None:
    if match := _UNDEFINED_SYMBOL.search(line) or _UNDEFINED_REFERENCE.search(line):
        return Message("link", "error", match.group("text"), tool="loader")
    if (match := _LINKER.match(line)) and not any(n in line for n in _LINKER_NOISE):
        return Message("link", "error", match.group("text"), tool="ld")
    if match := _KILLED.match(line):
        return Message("compiler", "error", match.group("text").strip(), tool="compiler")
    return None


def parse(log: str, source: Source) -> tuple[Evidence, ...]:
    """Return the errors of a log, each once, in its order, at the submission's lines."""
    return _evidence(log, source, "error")


def warnings(log: str, source: Source) -> tuple[Evidence, ...]:
    """Return the warnings about the submission's own lines."""
    return tuple(e for e in _evidence(log, source, "warning") if e.place or e.kind == "ptxas")


def _evidence(log: str, source: Source, severity: str) -> tuple[Evidence, ...]:
    found: dict[tuple[str, int, str], Evidence] = {}
    for message in messages(log):
        where = (message.file, message.line, message.text)
        if message.severity != severity:
            continue
        if before := found.get(where):
            found[where] = before.model_copy(update={"count": before.count + 1})
        else:
            found[where] = _evidence_of_message(message, source)
    return tuple(found.values())


def _evidence_of_message(message: Message, source: Source) -> Evidence:
    return Evidence(
        kind=message.kind,
        code=code(message.text),
        text=_sentence(message),
        place=_place(message, source),
        details=ToolMessage(
            said=message.text,
            file=message.file.rsplit("/", 1)[-1],
            line=message.line,
            tool=message.tool,
            warning=message.severity == "warning",
        ),
    )


def _place(message: Message, source: Source) -> Place | None:
    if not message.line or not message.file:
        return _kernel_place(message.text, source)
    column = max(message.column - 1, 0)
    at = (
        (message.file, message.line, column),
        *((file, line, 0) for file, line in message.origins),
    )
    places = (place_compiled_line(source, *where) for where in at)
    return next((place for place in places if place is not None), None)


def _kernel_place(text: str, source: Source) -> Place | None:
    """Return where the kernel stands that ptxas names, mangled, without a line."""
    entry = _ENTRY_FUNCTION.search(text)
    if entry is None:
        return None
    names = set(re.findall(r"(?<=\d)[A-Za-z_]\w*", entry.group(1))) | {entry.group(1)}
    for unit in source.cuda:
        for kernel in unit.kernels:
            # A length stands before each identifier of a mangled name, and more may follow it.
            marked = f"{len(kernel.name)}{kernel.name}"
            if kernel.name in names or marked in entry.group(1):
                return unit.place(kernel.node)
    return None


def _sentence(message: Message) -> str:
    text = message.text.strip().rstrip(".")
    return f"{message.tool}: {text}." if message.tool else f"{text}."


def code(text: str) -> str:
    """Return what kind of error a message is, in a word."""
    return next((name for name, pattern in _CODES if re.search(pattern, text)), "error")


_ENTRY = re.compile(r"Compiling entry function '(?P<kernel>[^']+)'")
_STACK = re.compile(
    r"(?P<stack>\d+) bytes stack frame, (?P<stores>\d+) bytes spill stores, "
    r"(?P<loads>\d+) bytes spill loads"
)
_USED = re.compile(r"Used (?P<registers>\d+) registers(?P<rest>.*)")
_DEMANGLED = re.compile(r"^kernel-grader: kernel (?P<mangled>\S+) is (?P<plain>.+)$", re.MULTILINE)


def resources(log: str) -> tuple[KernelResources, ...]:
    """Return what `ptxas -v` said of each kernel, in its order; the last word counts."""
    plain = {m.group("mangled"): m.group("plain") for m in _DEMANGLED.finditer(log)}
    found: dict[str, KernelResources] = {}
    kernel, stack = "", (0, 0, 0)
    for line in log.splitlines():
        if match := _ENTRY.search(line):
            kernel, stack = match.group("kernel"), (0, 0, 0)
        elif match := _STACK.search(line):
            stack = (int(match["stack"]), int(match["stores"]), int(match["loads"]))
        elif kernel and (match := _USED.search(line)):
            found[kernel] = KernelResources(
                kernel=plain.get(kernel, kernel),
                symbol=kernel,
                registers=int(match["registers"]),
                shared_bytes=_bytes(match["rest"], r"(\d+) bytes smem"),
                stack_bytes=stack[0],
                spill_store_bytes=stack[1],
                spill_load_bytes=stack[2],
                constant_bytes=_bytes(match["rest"], r"(\d+) bytes cmem"),
            )
            kernel = ""
    return tuple(found.values())


def _bytes(text: str, pattern: str) -> int:
    return sum(int(value) for value in re.findall(pattern, text))
