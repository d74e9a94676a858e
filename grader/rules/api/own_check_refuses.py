"""API006: the program's own check refuses the arguments of its forward."""

import ast
import re
from collections.abc import Iterator

from grader.rules import Context, Evidence, Finding, Fix, Place, Source, Unit, fix, rule_of
from grader.source.cpp import Call
from grader.source.nodes import around, descendants, one_line, text
from grader.source.statements import simple_statement

SHORT = 8
"""Least number of characters that identify a message."""
CHECKS = ("TORCH_CHECK", "AT_ASSERT", "TORCH_INTERNAL_ASSERT")
OF_AN_ERROR = ("success", "err", "status", "result")
"""Pattern of checks of a CUDA call's result rather than of an input."""
LAYOUT = re.compile(r"(\w+)\s*\.\s*is_contiguous\(\)")
Refusal = tuple[Place, str, tuple[Fix, ...]]
"""A check that raised, its condition's text, and its fix."""


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Look for the check whose message Python raised."""
    workloads = context.task.workloads if context.task is not None else ()
    others = {workload.name for workload in workloads if workload.role == "general"}
    for item in context.evidence_of("python"):
        raised = " ".join(item.said.split()) if item.code == "raised" else ""
        for refusal in _refusals(source, raised) if raised else ():
            yield _finding(*refusal, item, elsewhere=item.workload in others)
            break


def _refusals(source: Source, raised: str) -> Iterator[Refusal]:
    """Yield the checks that may have raised a message: of the host code, then of Python."""
    for unit in source.units:
        asking = _asking_macros(unit)
        for call in unit.calls:
            if _is_check(call) and _says(call, raised):
                yield (
                    unit.place(call.node),
                    one_line(call.arguments[0], 60),
                    _contiguous(unit, call.name),
                )
        for call in unit.calls if "contiguous" in raised else ():
            named = call.qualified in asking and len(call.arguments) == 1
            if named and re.search(rf"(?:^|[\s:]){re.escape(text(call.arguments[0]))}\b", raised):
                yield unit.place(call.node), one_line(call.node, 60), _contiguous(unit, *asking)
        for node in unit.nodes("throw_statement"):
            test = next((outer for outer in around(node) if outer.type == "if_statement"), None)
            words = [text(part) for part in descendants(node, "string_content")]
            if test is not None and _fits(words, raised):
                yield unit.place(node), one_line(test.child_by_field_name("condition"), 60), ()
    for asserted in source.walk(ast.Assert):
        words = [str(n.value) for n in ast.walk(asserted) if isinstance(n, ast.Constant)]
        if _fits(words, raised):
            yield source.place(asserted), ast.unparse(asserted.test)[:60], ()


def _asking_macros(unit: Unit) -> set[str]:
    """Return the macros with parameters that require contiguous tensors, also through other macros."""
    bodies = {
        text(node.child_by_field_name("name")): text(node.child_by_field_name("value"))
        for node in unit.nodes("preproc_function_def")
    }
    asking = {name for name, body in bodies.items() if "is_contiguous" in body}
    for _ in bodies:
        asking |= {n for n, body in bodies.items() if asking & set(re.findall(r"\w+", body))}
    return asking


def _is_check(call: Call) -> bool:
    """Whether a call is a check of an input."""
    condition = text(call.arguments[0]).lower() if call.arguments else ""
    other = any(word in condition for word in OF_AN_ERROR)
    return call.name.startswith(CHECKS) and bool(condition) and not other


def _says(call: Call, raised: str) -> bool:
    """Whether a check's message was raised; without a message torch repeats the condition."""
    words = [
        text(part) for one in call.arguments[1:] for part in descendants(one, "string_content")
    ]
    plain = f"Expected {' '.join(text(call.arguments[0]).split())} to be true"
    return _fits(words, raised) if words else plain in raised


def _fits(words: list[str], raised: str) -> bool:
    longest = " ".join(max(words, key=len, default="").split())
    return len(longest) >= SHORT and longest in raised


def _contiguous(unit: Unit, *names: str) -> tuple[Fix, ...]:
    """Make tensors contiguous where these checks or macros only require it."""
    edits = []
    for call in unit.calls:
        asked = LAYOUT.fullmatch(text(call.arguments[0])) if call.arguments else None
        own, plain = simple_statement(call.node), call.name.startswith(CHECKS)
        if call.name in names and plain and asked:
            edits.append(
                unit.edit(own.start_byte, own.end_byte, f"{asked[1]} = {asked[1]}.contiguous();")
            )
        elif call.name in names and not plain and call.arguments[0].type == "identifier":
            name = text(call.arguments[0])
            edits.append(
                unit.edit(own.start_byte, own.start_byte, f"{name} = {name}.contiguous(); ")
            )
    return fix("make the tensors contiguous instead of asking for it", edits)


def _finding(
    place: Place, condition: str, fixes: tuple[Fix, ...], item: Evidence, *, elsewhere: bool
) -> Finding:
    given = "inputs of other sizes" if elsewhere else "the task's own inputs"
    end = "" if elsewhere else ": the call raises, and nothing is computed"
    return RULE.finding(
        place,
        f"the program's own check on line {place.line}, `{condition}`, refuses what it is given for {given}{end}",
        severity="note" if elsewhere else None,
        evidence=(item,),
        fixes=() if elsewhere else fixes,
    )


RULE = rule_of(__file__, check)
