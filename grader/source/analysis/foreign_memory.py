"""Calls that reach memory or pipes outside the submission, by their arguments."""

import ast
import re
from collections.abc import Iterator

from tree_sitter import Node

from grader.source import Unit, nodes_under
from grader.source.analysis.data_flow import bound_names
from grader.source.cpp import Call
from grader.source.definitions import INDEX, definitions
from grader.source.nodes import text
from grader.source.python_code import PythonCode

MEMORY_FILE = re.compile(r"/proc/(?:self|thread-self|\d+|[^/]*[*%{\]][^/]*)/(?:task/[^/]*/)?mem\b")
"""Pattern of a process's memory file; `/proc/self/status` and the like are only informative."""
MAPS = frozenset({"mmap", "mmap64", "aligned_alloc", "posix_memalign", "memalign", "valloc"})
"""Functions that map a program's own pages."""
SYSTEM_CALL = re.compile(r"(?:SYS|__NR)_(\w+)")
RAW = ("ctypes.memmove", "ctypes.memset", "ctypes.string_at", "ctypes.wstring_at")
STANDARD = 2
"""The last of the standard descriptors: input, output, errors."""
TO_DESCRIPTORS = {"os.write": 0, "os.writev": 0, "os.pwrite": 0, "os.sendfile": 0, "os.dup2": 1}
"""Functions that write to a descriptor or replace it, with the position of that argument."""


def of_python(code: PythonCode, name: str, call: ast.Call) -> str:
    """Return a clause on the foreign memory or pipe that a call reaches; "" for none."""
    if name in TO_DESCRIPTORS and _is_foreign(code, call, TO_DESCRIPTORS[name]):
        return "writes to a pipe that this file did not open"
    if (name in RAW or name.endswith(".from_address")) and _asks_for_id(call):
        return "works on an object of the interpreter by its address"
    called = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    if not code.uses("ctypes"):
        return ""
    if called == "syscall" and call.args:
        called = SYSTEM_CALLS.get(_number(code, call.args[0]), "")
    if called in OTHER_PROCESSES:
        return "reaches into another process"
    return "opens memory that is closed" if called in PROTECTION else ""


def _is_foreign(code: PythonCode, call: ast.Call, position: int) -> bool:
    """Whether a descriptor is a bare number, not one that the file opened."""
    if len(call.args) <= position:
        return False
    node = call.args[position]
    return _number(code, node) > STANDARD or (
        isinstance(node, ast.Name) and node.id in _counted_names(code)
    )


def _counted_names(code: PythonCode) -> set[str]:
    """Return the names that loops count through."""
    return {
        node.target.id
        for node in code.of(ast.For)
        if isinstance(node.target, ast.Name)
        and isinstance(node.iter, ast.Call)
        and code.canonical(node.iter.func) == "range"
    }


def _number(code: PythonCode, node: ast.AST) -> int:
    """Return the integer value of an expression, directly or through its only assignment; -1 if none."""
    if isinstance(node, ast.Name):
        every = (pair for one in code.of(ast.Assign) for pair in bound_names(one))
        values = [value for name, value in every if name == node.id]
        node = values[0] if len(values) == 1 else node
    value = node.value if isinstance(node, ast.Constant) else None
    return value if isinstance(value, int) and not isinstance(value, bool) else -1


def _asks_for_id(call: ast.Call) -> bool:
    """Whether the address comes from `id`."""
    return any(
        isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "id"
        for argument in call.args
        for node in nodes_under(argument)
    )


def of_native(unit: Unit, call: Call) -> str:
    """Return a clause on the foreign memory or process that a host call reaches; "" for none."""
    name, said = call.name, ""
    if name == "syscall":
        found = SYSTEM_CALL.search(text(call.arguments[0]) if call.arguments else "")
        said = "" if found else "makes a system call that the text does not name"
        name = found[1] if found else ""
    if name in OTHER_PROCESSES:
        said = "reaches into another process"
    elif name in PROTECTION and not (call.arguments and _own_pages(unit, call.arguments[0])):
        said = "opens memory that this file did not map"
    elif name in {"dlsym", "dlvsym"} and not _names_it(unit, call):
        said = "looks up a function whose name the text does not show"
    return said


def _own_pages(unit: Unit, address: Node) -> bool:
    """Whether an address is in pages that the text maps itself."""
    names = {text(node) for node in unit.nodes_under(address, "identifier")}
    return any(
        call.name in MAPS for name in names for value in _values(unit, name) for call in
        (*unit.calls_under(value),)
    ) or any(
        call.name in MAPS and names & {text(node) for node in unit.nodes_under(call.node, "identifier")}
        for call in unit.calls
    )  # fmt: skip


def _values(unit: Unit, name: str) -> Iterator[Node]:
    """Yield the values of a variable, from its declaration and assignments."""
    return (
        one.value for one in definitions(unit.tree) if one.name == name and one.target.type != INDEX
    )


def _names_it(unit: Unit, call: Call) -> bool:
    """Whether the looked-up name is visible in the text: as a literal, or in a function's argument."""
    if len(call.arguments) < 2:
        return False
    asked = call.arguments[1]
    if asked.type == "identifier":
        values = tuple(_values(unit, text(asked)))
        return all(value.type == "string_literal" for value in values)
    return asked.type in {"string_literal", "raw_string_literal"}


OTHER_PROCESSES = frozenset(
    {"ptrace", "process_vm_readv", "process_vm_writev", "cudaIpcOpenMemHandle"}
)
"""Functions that reach into another process, which no kernel needs."""
PROTECTION = frozenset({"mprotect", "pkey_mprotect", "mremap", "remap_file_pages"})
"""Functions that change the protection or mapping of memory, allowed only for a program's own pages."""
SYSTEM_CALLS = {
    10: "mprotect", 25: "mremap", 101: "ptrace", 216: "remap_file_pages", 310: "process_vm_readv",
    311: "process_vm_writev", 329: "pkey_mprotect",
}  # fmt: skip
"""The same by their numbers on x86-64, for `syscall`."""
IN_EXTENSION = (OTHER_PROCESSES - {"cudaIpcOpenMemHandle"}) | PROTECTION | {"syscall"}
"""Names searched for in a built extension: if only the extension has one, the text hides it."""
RUNTIME = (
    r"__cudaRegister\w+|cuda(?:Launch|Memcpy|Memset|Malloc|Free|Event|Stream|Device|Graph|Func|Host|Get|Peek|Set)"
    r"[A-Z]\w*|cudaFree|cudaMalloc|cudaMemcpy|cudaMemset"
)
"""Functions of CUDA's runtime: an extension that defines one intercepts the program's device calls."""
