"""SEC001: the code reaches out of the submission: to programs, files and the network, or into the process that runs it."""

import ast
import re
from collections.abc import Iterator

from grader.records import LinkedName
from grader.rules import Context, Finding, Place, Severity, Source, Unit, rule_of
from grader.rules.name_tables import read_names
from grader.source.analysis.foreign_memory import IN_EXTENSION, MEMORY_FILE, of_native, of_python
from grader.source.nodes import text
from grader.source.python_code import PythonCode, constant_text

NAMES = read_names(__file__)
BEGINS, CALLS = read_names(__file__, "begins"), read_names(__file__, "calls")
"""Effects of calls, by prefix of the full name or by exact name."""
NATIVE = {name: does for does, names in read_names(__file__, "native").items() for name in names}

SOURCES = (".cu", ".cpp", ".cuh", ".h", ".so")
ASSEMBLY = re.compile(r"\b(?:syscall|sysenter)\b|\bint\s+\$?0x80|\.(?:byte|long|quad|incbin)\b")
"""In assembly: a system call that no import shows, bytes that say nothing, a file of the machine's."""


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Look for calls that reach out of the process, for raw memory, and for code that runs at load time."""
    code = source.module
    yield from _effects(source, code)
    yield from _environment(source, code)
    yield from _memory(source, code)
    yield from _paths(source, code)
    for unit in source.units:
        yield from _native_effects(unit)
        yield from _native_memory(unit)
    yield from _imported_functions(source, context)


# programs, files, the network


def _effects(source: Source, code: PythonCode) -> Iterator[Finding]:
    for name, call in code.calls:
        done = _grade_call(code, name, call) if not code.in_main_guard(call) else None
        if done is not None:
            said = f"{code.text(call.func)}(...) {done[1]}"
            yield RULE.finding(source.place(call), said, severity=done[0])


def _grade_call(code: PythonCode, name: str, call: ast.Call) -> tuple[Severity, str] | None:
    """Return the severity and effect of a call; None for a harmless one."""
    found = [what for what, prefixes in BEGINS.items() if name.startswith(prefixes)]
    found += [what for what, names in CALLS.items() if name in names]
    if found:
        return "error", found[0]
    return _opening(code, call) if name in NAMES["opens"] else None


def _opening(code: PythonCode, call: ast.Call) -> tuple[Severity, str] | None:
    given = [*call.args[1:2], *(word.value for word in call.keywords if word.arg == "mode")]
    mode = constant_text(given[-1]) if given else None
    path = code.text(call.args[0]) if call.args else ""
    if "__file__" in path and not mode:
        return None
    if mode is not None and set(mode) & set("wax+"):
        made = [code.text(one.value) for one in code.of(ast.Assign) if path in map(code.text, one.targets)]  # fmt: skip
        own = any(one.rstrip("'\")").endswith(SOURCES) for one in (path, *made))
        return ("note" if own else "error"), f"writes the file {path}"
    return "note", f"reads the file {path}"


def _environment(source: Source, code: PythonCode) -> Iterator[Finding]:
    for node in code.of(ast.Assign):
        for target in node.targets:
            if isinstance(target, ast.Subscript) and code.canonical(target.value) == "os.environ":
                name = constant_text(target.slice) or "a variable"
                mild = name.startswith(NAMES["harmless_variables"])
                yield RULE.finding(
                    source.place(node),
                    f"{name} is set in the environment of the whole process",
                    severity="note" if mild else "warning",
                    folded=mild,
                )


def _native_effects(unit: Unit) -> Iterator[Finding]:
    own = {function.name for function in unit.functions}
    for call in unit.calls:
        name = call.qualified.removeprefix("::").removeprefix("std::")
        if name in NATIVE and call.base is None and call.qualified not in own:
            yield RULE.finding(
                unit.place(call.node),
                f"{text(call.node.child_by_field_name('function'))}(...) {NATIVE[name]}",
                severity="note" if name in NAMES["mild"] else "error",
            )


# the process that runs it


def _imported_functions(source: Source, context: Context) -> Iterator[Finding]:
    """Report functions that the built extension calls but its text does not, and those that it defines in CUDA's place."""
    called = {call.name for unit in source.units for call in unit.calls} & IN_EXTENSION
    for item in context.evidence_of("link"):
        name = item.details.name if isinstance(item.details, LinkedName) else ""
        hidden = name.lstrip("_").removeprefix("libc_") not in called
        said = ""
        if item.code == "runtime-defined":
            said = f"defines {name} in the place of CUDA's own"
        elif item.code == "reaching-import" and hidden:
            said = f"calls {name}, which reaches into the process that loads it, and the text does not show it"
        if said:
            yield RULE.finding(None, f"the built extension {said}", evidence=(item,), rejects=True)


def _memory(source: Source, code: PythonCode) -> Iterator[Finding]:
    """Report raw memory and descriptors; their use decides whether the finding rejects."""
    for name, call in code.calls:
        reaches = of_python(code, name, call)
        looks = name.startswith(NAMES["memory"]) or name in NAMES["descriptors"]
        plain = name in NAMES["asks"] or name.startswith("ctypes.c_")
        if reaches or (looks and not plain):
            yield RULE.finding(
                source.place(call),
                f"{code.text(call.func)} {reaches or 'works on the process past Python; nothing here shows a wrong use'}",
                severity="error" if reaches else "note",
                rejects=bool(reaches),
            )


def _paths(source: Source, code: PythonCode) -> Iterator[Finding]:
    for node in (*code.of(ast.Constant), *code.of(ast.JoinedStr)):
        parts = node.values if isinstance(node, ast.JoinedStr) else (node,)
        written = "".join(constant_text(part) or "{}" for part in parts)
        if len(written) < 300 and "\n" not in written:
            yield from _way_around(source.place(node), written)


def _way_around(place: Place, written: str) -> Iterator[Finding]:
    path = next((one for one in NAMES["paths"] if one in written), None)
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


def _native_memory(unit: Unit) -> Iterator[Finding]:
    own = {function.name for function in unit.functions}
    for call in unit.calls:
        reaches = of_native(unit, call) if call.base is None and call.name not in own else ""
        if reaches:
            yield RULE.finding(
                unit.place(call.node),
                f"{call.name} {reaches}",
                rejects=True,
            )
    for node in unit.nodes("string_literal", "raw_string_literal"):
        yield from _way_around(unit.place(node), text(node))
    for node in unit.nodes("gnu_asm_expression"):
        if ASSEMBLY.search(text(node)) and not unit.in_device_code(node):
            yield RULE.finding(
                unit.place(node),
                "this assembly calls the system or holds bytes that no text shows",
                rejects=True,
            )
    for node in unit.nodes("attribute_specifier", "attribute_declaration"):
        if any(word in text(node) for word in NAMES["constructor"]):
            yield RULE.finding(
                unit.place(node),
                f"{text(node)[:60]} makes code run when the library is loaded, as the constructor of a static object would",
                severity="note",
            )


RULE = rule_of(__file__, check)
