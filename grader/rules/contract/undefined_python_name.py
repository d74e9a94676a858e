"""EXT003: a Python name that nothing defines, or an attribute of self that nothing sets."""

import ast
import builtins
from collections.abc import Iterator, Mapping

from grader.rules import Context, Finding, Fix, Source, fix, rule_of
from grader.source.analysis.diagnostics import confirming_errors, explain
from grader.source.analysis.unbound_names import (
    MODULE_NAMES,
    binds_unseen,
    bound_around,
    error_expected,
    never_evaluated,
    unbound,
)
from grader.source.code_edits import insert_line_before
from grader.source.python_code import PythonCode

INPUT_FUNCTIONS = {"get_inputs", "get_init_inputs", "get_test_inputs"}


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Compare the global names that the program reads with those that it binds, and check ModelNew's attributes."""
    code = source.module
    yield from _never_set(source, code, context)
    if not binds_unseen(code):
        yield from _undefined_names(source, code, context)


def _undefined_names(source: Source, code: PythonCode, context: Context) -> Iterator[Finding]:
    yield from _taken_from_problem(source, code, context)
    constants, said = _reference_constants(context), set()
    for nodes in _missing_uses(code, unbound(source, {*dir(builtins), *MODULE_NAMES})).values():
        finding = _finding(source, code, nodes, constants, context)
        said |= {item.text for item in finding.evidence}
        yield finding
    for item in confirming_errors(context, ("python-name",)):  # defined, but further down
        if item.text not in said and item.code != "raised":
            yield RULE.finding(item.place, item.text, evidence=(item,))


def _taken_from_problem(source: Source, code: PythonCode, context: Context) -> Iterator[Finding]:
    """Report names taken from the problem's file, as in KernelBench's own harness."""
    submission = context.extraction.submission if context.extraction is not None else None
    if submission is None or not submission.borrowed:
        return
    first: dict[str, ast.Name] = {}
    for node in sorted(code.of(ast.Name), key=lambda one: one.lineno):
        if isinstance(node.ctx, ast.Load) and submission.sample_line(node.lineno):
            first.setdefault(node.id, node)
    for name in (name for name in submission.borrowed if name in first):
        yield RULE.finding(
            source.place(first[name]),
            f"{name} is not defined in the answer: it was taken from the problem's file, among "
            "whose names KernelBench runs answers; alone it is a NameError",
            severity="warning",
        )


def undefined_where_it_counts(source: Source, context: Context) -> tuple[str, ...]:
    """Return the undefined names that the class needs, each once, in the order of their use."""
    code = source.module
    found = _undefined_names(source, code, context) if not binds_unseen(code) else ()
    findings = [one for one in found if one.severity == "error"]
    return tuple(dict.fromkeys(name for one in findings for name in one.names))


def _missing_uses(code: PythonCode, undefined: set[str]) -> Mapping[str, list[ast.Name]]:
    """Return a use of each undefined name by function, the first that isn't in code for inputs."""
    uses = [
        node
        for node in code.of(ast.Name)
        if node.id in undefined and isinstance(node.ctx, ast.Load)
        and not bound_around(code, node) and not error_expected(code, node)
        and not code.in_main_guard(node) and not never_evaluated(code, node)
    ]  # fmt: skip
    missing: dict[str, list[ast.Name]] = {}
    seen: set[str] = set()
    for node in sorted(uses, key=lambda one: _owner(code, one) in INPUT_FUNCTIONS):
        if node.id not in seen:
            seen.add(node.id)
            missing.setdefault(_owner(code, node), []).append(node)
    return missing


def _owner(code: PythonCode, node: ast.Name) -> str:
    function = code.function_of(node)
    return function.name if function is not None else ""


def _finding(
    source: Source,
    code: PythonCode,
    nodes: list[ast.Name],
    constants: Mapping[str, str],
    context: Context,
) -> Finding:
    where, names = _owner(code, nodes[0]), [node.id for node in nodes]
    evidence = confirming_errors(context, ("python-name",), names, run=True)
    idle = where in INPUT_FUNCTIONS and context.task is not None
    what = f"when {where} is called" if where else "as soon as the file is imported"
    listed = " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
    message = f"{listed} {'is' if len(names) == 1 else 'are'} not defined anywhere in the file: NameError {what}"
    if idle:
        message += "; the task makes its own inputs, so it does not decide here"
    elif context.task is not None and constants.keys() >= set(names):
        message += " (KernelBench runs answers among the names of the problem's file, and finds it there)"  # fmt: skip
    return RULE.finding(
        source.place(nodes[0]),
        message,
        severity="warning" if idle and not evidence else "error",
        evidence=evidence,
        fixes=_copy(source, code, nodes, constants),
        names=names,
    )


def _reference_constants(context: Context) -> Mapping[str, str]:
    """Return the assignments of the reference, as text by name."""
    texts = [context.task.reference] if context.task is not None else []
    texts += [context.extraction.reference or ""] if context.extraction is not None else []
    found: dict[str, str] = {}
    for reference in texts:
        try:
            statements = ast.parse(reference).body
        except (SyntaxError, ValueError, RecursionError):
            continue
        for statement in (one for one in statements if isinstance(one, ast.Assign)):
            for node in (part for target in statement.targets for part in ast.walk(target)):
                if isinstance(node, ast.Name):
                    found.setdefault(node.id, ast.unparse(statement))
    return found


def _copy(
    source: Source, code: PythonCode, nodes: list[ast.Name], constants: Mapping[str, str]
) -> tuple[Fix, ...]:
    if any(node.id not in constants for node in nodes):
        return ()
    outer = [one for one in code.ancestors(nodes[0]) if not isinstance(one, ast.Module)]
    lines = "\n".join(dict.fromkeys(constants[node.id] for node in nodes))
    label = f"define {', '.join(node.id for node in nodes)} as the reference does"
    return fix(label, [insert_line_before(source, [nodes[0], *outer][-1], f"{lines}\n\n")])


# attributes of self


def _never_set(source: Source, code: PythonCode, context: Context) -> Iterator[Finding]:
    """Report the missing attributes of self, each at its first read."""
    told: set[str] = set()
    for item in confirming_errors(context, ("python-attribute",), run=True):
        meaning = explain(item.said)
        owner, name = meaning.names if meaning is not None else ("", "")
        reads = (node for node in code.of(ast.Attribute) if _is_of_self(node, name))
        node = next(reads, None) if owner in code.classes and name not in told else None
        if node is not None:
            told.add(name)
            yield RULE.finding(
                source.place(node),
                f"self.{name} is read here, and nothing sets it: AttributeError when forward runs",
                evidence=[item],
                names=(name,),
            )


def _is_of_self(node: ast.Attribute, name: str) -> bool:
    """Whether a node reads an attribute of this name of self."""
    mine = isinstance(node.value, ast.Name) and node.value.id == "self"
    return mine and node.attr == name and isinstance(node.ctx, ast.Load)


RULE = rule_of(__file__, check, certain_from_text=True)
