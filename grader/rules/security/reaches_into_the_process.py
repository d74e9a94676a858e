"""SEC002: memory, symbols or secrets of the process are reached without an interface."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from grader.rules.cuda_code import cuda_code, text, units
from grader.rules.python_code import PythonCode, python_code
from grader.rules.reaching import IN_TEXT
from grader.rules.rule import Context, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from grader.records import Finding, Place
    from grader.source import Source, Unit

MEMORY = ("ctypes.", "mmap.", "_ctypes.", "cffi.")
PATHS = (
    "/proc/self",
    "/proc/1/",
    "/proc/%d",
    "/dev/mem",
    "/dev/shm",  # noqa: S108 - looked for, not used
    "/run/secret",
    "/etc/passwd",
    "/dev/nvidia",
    "/proc/driver",
)
WAYS = ("/proc", "/dev/nvidia")
"""The process's own files, and what tells a machine with a GPU from one without."""
ASSEMBLY = re.compile(r"\b(?:syscall|sysenter)\b|\bint\s+\$?0x80|\.(?:byte|long|quad|incbin)\b")
"""In assembly: a system call that no import shows, bytes that say nothing, a file of the machine's."""
CONSTRUCTOR = ("constructor", "destructor", "ifunc")
DESCRIPTORS = {"os.dup2", "os.dup", "os.fdopen", "os.write", "os.pipe"}


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Look for raw memory, the process's own files, and code that runs at load time."""
    code = python_code(source)
    if code is not None:
        yield from _calls(source, code)
        yield from _paths(source, code)
    for unit in units(source):
        yield from _native(unit)
    for item in context.seen("link"):
        if item.code == "reaching-import":
            name = str(item.data.get("name", ""))
            yield RULE.finding(
                None,
                f"the built extension calls {name}, which reaches into the process that loads it",
                confidence="proven",
                evidence=(item,),
                data={"target": name, "rejects": True},
            )


def _calls(source: Source, code: PythonCode) -> Iterator[Finding]:
    for name, call in code.calls:
        if name.startswith(MEMORY) or name in DESCRIPTORS:
            what = (
                "writes past Python to the pipes of whoever runs this file"
                if name in DESCRIPTORS
                else "reaches the memory of the process, the grader's included"
            )
            plain = name.startswith("ctypes.c_")
            yield RULE.finding(
                source.place(call),
                f"{name} {what}",
                severity="warning" if plain else "error",
                data={"target": name, "rejects": not plain},
            )


def _paths(source: Source, code: PythonCode) -> Iterator[Finding]:
    for node in code.of(ast.Constant):
        written = node.value
        if isinstance(written, str) and len(written) < 300 and "\n" not in written:
            path = next((one for one in PATHS if one in written), None)
            if path is not None:
                yield _way_around(source.place(node), path)


def _way_around(place: Place, path: str) -> Finding:
    return RULE.finding(
        place,
        f"{path} is a way around the interfaces of the process",
        data={"target": path, "rejects": path.startswith(WAYS)},
    )


def _native(unit: Unit) -> Iterator[Finding]:
    code = cuda_code(unit)
    own = {function.name for function in unit.functions}
    for call in code.calls:
        if call.last in IN_TEXT and call.object is None and call.last not in own:
            yield RULE.finding(
                unit.place(call.node),
                f"{call.last} reaches memory, symbols or pipes that are not the kernel's",
                data={"target": call.last, "rejects": True},
            )
    for node in code.of("string_literal", "raw_string_literal"):
        written = text(node)
        path = next((one for one in PATHS if one in written), None)
        if path is not None:
            yield _way_around(unit.place(node), path)
    for node in code.of("gnu_asm_expression"):
        if ASSEMBLY.search(text(node)) and not code.in_device_code(node):
            yield RULE.finding(
                unit.place(node),
                "this assembly calls the system or holds bytes that no text shows",
                data={"target": "asm", "rejects": True},
            )
    for node in code.of("attribute_specifier", "attribute_declaration"):
        if any(word in text(node) for word in CONSTRUCTOR):
            yield RULE.finding(
                unit.place(node),
                f"{text(node)[:60]} makes code run when the library is loaded, before anything "
                "is checked",
                data={"target": "constructor", "rejects": True},
            )


RULE = Rule(
    code="SEC002",
    name="reaches-into-the-process",
    severity="error",
    summary="The code reaches memory, symbols or pipes of the process that are not its own.",
    why="A submission runs in one process with whatever loads it. Raw memory, symbol tables and "
    "file "
    "descriptors are how verdicts and timers are changed behind a grader's back.",
    bad=(
        "import torch\nimport ctypes\nctypes.memset(0, 0, 1)\n",
        'import torch\nsecret = "/proc/self/mem"\n',
        "import torch\nimport os\nos.write(3, b'ok')\n",
        """
__attribute__((constructor)) void start() {}
torch::Tensor f(torch::Tensor x) {
    return x;
}
""",
        """
torch::Tensor f(torch::Tensor x) {
    mprotect((void*)0, 4096, 7);
    return x;
}
""",
        """
long call(long number, long first) {
    long result;
    asm volatile("syscall" : "=a"(result) : "a"(number), "D"(first) : "rcx", "r11", "memory");
    return result;
}
""",
    ),
    good=(
        "import torch\nimport os\npath = os.path.dirname('/usr/local/cuda/include')\n",
        (
            "// see /proc/self/maps\nclass Box { public: Box() {} };\ntorch::Tensor "
            "f(torch::Tensor x) {\n"
            "    Box constructor;\n    return x;\n}"
        ),
        """
__device__ unsigned lane() {
    unsigned n;
    asm volatile("mov.u32 %0, %%laneid;" : "=r"(n));
    return n;
}
""",
    ),
    detects=("text", "evidence"),
    guards="Comments do not count, and neither do functions of the file with such a name.",
    mend="",
    check=check,
)
