"""Definitions of undeclared names: from elsewhere in the text, and common ones of tutorials."""

from __future__ import annotations

import re
from collections.abc import Iterator

from grader.records import Fix
from grader.repair.fixes.compiler.diagnostic import Diagnostic, at_file_scope
from grader.repair.fixes.names import names
from grader.source import Function
from grader.source.code_edits import fix, prototype
from grader.source.cpp_reading import read_call, variables
from grader.source.cpp_types import known_at
from grader.source.nodes import descendants, text
from grader.source.statements import child_of, enclosing_loops, insert_before

CHECKS = re.compile(r"\w*(?:CHECK|ASSERT|CUDA_CALL|CUDA_SAFE|ERRCHK|ERROR)\w*", re.IGNORECASE)
CONSTANTS = (("WARP", "32"), ("TILE", "16"), ("EPS", "1e-5f"), ("BLOCK", "256"), ("THREAD", "256"))
"""Likely value of an undefined constant, by a part of its name."""

COUNT = re.compile(r"n|num|count|(?:total_|num_|n_)?(?:size|numel|elements|total)", re.IGNORECASE)
"""What authors call the number of a tensor's elements."""
THREADS = re.compile(r"threads\w*|block_?size|block_?dim|num_?threads", re.IGNORECASE)


def define_name(found: Diagnostic) -> Iterator[Fix]:
    """Yield the ways to define the unknown name."""
    name = found.unknown
    if not name:
        return
    constant = tuple(_constant_for_kernels(found, name))
    yield from _declared_first(found, name)
    yield from constant
    yield from _running_sum(found, name)
    yield from _host_variable(found, name)
    words = _definition(found, name) if not constant else ""
    edits = [insert_before(unit, first, words) for unit, first in found.users(name)]
    yield from fix(f"define {name}", edits) if words else ()


def _definition(found: Diagnostic, name: str) -> str:
    """Return the definition of a helper, a check or a launch constant by its name; empty for others."""
    if any(one.name == name for unit in found.source.cuda for one in unit.functions):
        return ""
    plain = name.lower().replace("_", "")
    helper = next(
        (one["text"] for one in names()["helpers"] if re.fullmatch(one["names"], plain)), ""
    )
    value = next((value for part, value in CONSTANTS if part in name and name.isupper()), "")
    if helper:
        return helper.format(name=name)
    if value:
        return f"constexpr {'float' if value.endswith('f') else 'int'} {name} = {value};\n"
    return _check(found, name) if CHECKS.fullmatch(name) else ""


def _check(found: Diagnostic, name: str) -> str:
    """Return the macro of a check: of a call of CUDA, of a tensor, or of a condition."""
    calls = [read_call(node.parent) for _, node in found.uses(name) if node.parent is not None]
    given = [text(call.arguments[0]) for call in calls if call.arguments]
    if given and all(re.match(r"\s*cu\w+\s*\(", words) for words in given):
        return f'#define {name}(call) TORCH_CHECK((call) == 0, "a CUDA call failed")\n'
    if given and all(re.fullmatch(r"\s*\w+\s*", words) for words in given):
        test = "(x).is_contiguous()" if "CONTIG" in name.upper() else "(x).is_cuda()"
        return f'#define {name}(x) TORCH_CHECK({test}, #x " is of the wrong kind")\n'
    return f'#define {name}(condition, ...) TORCH_CHECK(condition, "a check failed")\n'


def _declared_first(found: Diagnostic, name: str) -> Iterator[Fix]:
    """Declare a function before its first use, where its definition follows."""
    for unit in found.source.cuda:
        later = next((f for f in unit.functions if f.name == name and f.body is not None), None)
        used = [node for owner, node in found.uses(name) if owner is unit]
        if later is not None and used and used[0].start_byte <= later.node.start_byte:
            words = f"{_template_head(later)}{prototype(later)}\n"
            edit = insert_before(unit, at_file_scope(used[0]), words)
            yield from fix(f"declare {name} before it is used", [edit])


def _template_head(function: Function) -> str:
    """Return `template <...>` of a function template, on a line of its own."""
    outer = function.node.parent
    if outer is None or outer.type != "template_declaration":
        return ""
    return f"template {text(outer.child_by_field_name('parameters'))}\n"


def _constant_for_kernels(found: Diagnostic, name: str) -> Iterator[Fix]:
    """Make a host-only number usable in kernels: `constexpr`, at file scope."""
    for unit in found.source.cuda:
        for one in variables(unit.tree):
            kind, value = one.node.child_by_field_name("type"), one.value
            if one.name != name or kind is None or value is None:
                continue
            if any(descendants(value, "identifier", "call_expression")):
                continue
            if one.node.parent is not None and one.node.parent.type == "translation_unit":
                edit = unit.edit(kind.start_byte, kind.start_byte, "constexpr ")
                yield from fix(f"make {name} a constant of the compiler's", [edit])
            else:
                spelled = "int" if one.type == "auto" else one.type
                line = f"constexpr {spelled} {name} = {text(value)};\n"
                users = (first for each, first in found.users(name) if each is unit)
                edits = [insert_before(unit, first, line) for first in users]
                yield from fix(f"define {name} for kernels too", edits)
            return


def _running_sum(found: Diagnostic, name: str) -> Iterator[Fix]:
    """Declare a sum before the outermost loop that adds to it, and let it begin at zero."""
    for unit, node in found.uses(name):
        outer = node.parent
        loops = list(enclosing_loops(outer)) if outer is not None else []
        if outer is not None and loops and outer.child_by_field_name("left") == node:
            if text(outer.child_by_field_name("operator")) == "+=":
                edit = insert_before(unit, loops[-1], f"float {name} = 0.0f;")
                yield from fix(f"declare `{name}`", [edit])
                return


def _host_variable(found: Diagnostic, name: str) -> Iterator[Fix]:
    """Declare an undeclared variable of a host function: a number of elements, threads of a block."""
    for unit, node in found.uses(name):
        function = unit.function_around(node)
        known = known_at(unit, node).items()
        tensors = [f"{one}.numel()" for one, kind in known if kind.endswith("Tensor")]
        value = "256" if THREADS.fullmatch(name) else ""
        value = value or (tensors[0] if tensors and COUNT.fullmatch(name) else "")
        if value and function is not None and function.runs == "host" and function.body is not None:
            where = child_of(function.body, node)
            edit = insert_before(unit, where, f"const int {name} = {value};")
            yield from fix(f"declare {name}", [edit])
            return
