"""SEC002: memory, symbols or secrets of the process are reached without an interface."""

import ast
import re
from collections.abc import Iterator

from grader.records import Context, Finding, LinkedName, Place
from grader.rules.rule import Rule
from grader.source import Source, Unit
from grader.source.analysis.foreign_memory import MEMORY_FILE, of_native, of_python
from grader.source.analysis.reaching import IN_EXTENSION
from grader.source.cuda_code import cuda_code, text, units
from grader.source.python_code import PythonCode, constant_text, python_code

MEMORY = ("ctypes.", "mmap.", "_ctypes.", "cffi.")
PATHS = (
    "/proc/",
    "/dev/mem",
    "/dev/shm",  # noqa: S108 - looked for, not used
    "/run/secret",
    "/etc/passwd",
    "/dev/nvidia",
)
ASSEMBLY = re.compile(r"\b(?:syscall|sysenter)\b|\bint\s+\$?0x80|\.(?:byte|long|quad|incbin)\b")
"""In assembly: a system call that no import shows, bytes that say nothing, a file of the machine's."""
CONSTRUCTOR = ("constructor", "destructor", "ifunc")
DESCRIPTORS = {"os.dup2", "os.dup", "os.fdopen", "os.write", "os.pipe"}
ASKS = {"ctypes.sizeof", "ctypes.alignment", "ctypes.util.find_library", "ctypes.get_errno"}
"""What touches no memory, like the types `ctypes.c_int` and their kind."""


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Look for raw memory, the process's own files, and code that runs at load time."""
    code = python_code(source)
    if code is not None:
        yield from _calls(source, code)
        yield from _paths(source, code)
    for unit in units(source):
        yield from _native(unit)
    yield from _imported(source, context)


def _imported(source: Source, context: Context) -> Iterator[Finding]:
    """Report what the built extension calls and its text does not, and what it defines in CUDA's place."""
    called = {call.last for unit in units(source) for call in cuda_code(unit).calls} & IN_EXTENSION
    for item in context.seen("link"):
        name = item.details.name if isinstance(item.details, LinkedName) else ""
        if item.code == "runtime-defined":
            yield RULE.finding(
                None,
                f"the built extension defines {name} in the place of CUDA's own",
                evidence=(item,),
                rejects=True,
            )
        if item.code == "reaching-import" and name.lstrip("_").removeprefix("libc_") not in called:
            yield RULE.finding(
                None,
                f"the built extension calls {name}, which reaches into the process that loads it, and the text does not show it",
                evidence=(item,),
                rejects=True,
            )


def _calls(source: Source, code: PythonCode) -> Iterator[Finding]:
    """Report raw memory and descriptors; what is done with them decides whether it rejects."""
    for name, call in code.calls:
        reaches = of_python(code, name, call)
        looks = name.startswith(MEMORY) or name in DESCRIPTORS
        plain = name in ASKS or name.startswith("ctypes.c_")
        if reaches or (looks and not plain):
            yield RULE.finding(
                source.place(call),
                f"{code.text(call.func)} {reaches or 'works on the process past Python; nothing here shows a wrong use'}",
                severity="error" if reaches else "note",
                rejects=bool(reaches),
            )


def _paths(source: Source, code: PythonCode) -> Iterator[Finding]:
    for node in (*code.of(ast.Constant), *code.of(ast.JoinedStr)):
        written = _written(node)
        if len(written) < 300 and "\n" not in written:
            yield from _way_around(source.place(node), written)


def _written(node: ast.expr) -> str:
    """Return a literal's text, with `{}` for what is put in when it runs."""
    if isinstance(node, ast.JoinedStr):
        return "".join(constant_text(part) or "{}" for part in node.values)
    value = node.value if isinstance(node, ast.Constant) else None
    return value if isinstance(value, str) else ""


def _way_around(place: Place, written: str) -> Iterator[Finding]:
    path = next((one for one in PATHS if one in written), None)
    memory = MEMORY_FILE.search(written)
    if memory or path:
        yield RULE.finding(
            place,
            f"{memory[0]} is the memory of a process, the grader's code in it included"
            if memory
            else f"{path} tells of the machine and its processes past their interfaces",
            severity="error" if memory else "note",
            rejects=bool(memory),
        )


def _native(unit: Unit) -> Iterator[Finding]:
    code = cuda_code(unit)
    own = {function.name for function in unit.functions}
    for call in code.calls:
        reaches = of_native(code, call) if call.object is None and call.last not in own else ""
        if reaches:
            yield RULE.finding(
                unit.place(call.node),
                f"{call.last} {reaches}",
                rejects=True,
            )
    for node in code.of("string_literal", "raw_string_literal"):
        yield from _way_around(unit.place(node), text(node))
    for node in code.of("gnu_asm_expression"):
        if ASSEMBLY.search(text(node)) and not code.in_device_code(node):
            yield RULE.finding(
                unit.place(node),
                "this assembly calls the system or holds bytes that no text shows",
                rejects=True,
            )
    for node in code.of("attribute_specifier", "attribute_declaration"):
        if any(word in text(node) for word in CONSTRUCTOR):
            yield RULE.finding(
                unit.place(node),
                f"{text(node)[:60]} makes code run when the library is loaded, as the constructor of a static object would",
                severity="note",
            )


_BAD = "import torch\nimport ctypes\nctypes.memset(0, 0, 1)\n"
RULE = Rule(
    code="SEC002",
    name="reaches-into-the-process",
    summary="The code reaches memory, symbols or pipes of the process that are not its own.",
    why="A submission runs in one process with whatever loads it. Raw memory, symbol tables and file descriptors are how verdicts and "
    "timers are changed behind a grader's back.",
    bad=_BAD,
    good=_BAD.replace(
        "ctypes\nctypes.memset(0, 0, 1", "os\npath = os.path.dirname('/usr/local/cuda/include'"
    ),
    detects=("text", "evidence"),
    guards="Comments do not count, and neither do functions of the file with such a name.",
    check=check,
)
