"""Fixes of names that Python doesn't find: an import, another spelling, a parameter of the reference, a move to nowhere."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterator, Sequence

from grader.records import Context, Edit, Finding, Fix
from grader.repair.fixes.maker import FixMaker
from grader.repair.fixes.names import names
from grader.source import Source, nodes_under
from grader.source.analysis.reference_text import reference_parameters
from grader.source.code_edits import fix, insert_line_before, replace
from grader.source.python_code import Function, PythonCode

INPUT_FUNCTIONS = {"get_inputs", "get_init_inputs", "get_test_inputs"}
ALIKE = 0.75
"""How alike two spellings are that may be meant as one, by difflib's ratio."""


def define_python_name(
    source: Source, code: PythonCode, nodes: Sequence[ast.Name], reference: Sequence[str]
) -> Iterator[Fix]:
    """Yield likely fixes of names that a function reads and nothing defines.

    `reference` are the function's parameters in the reference, without self.
    """
    yield from _import_modules(source, code, nodes)
    function = code.function_of(nodes[0])
    if function is not None:
        yield from _stay(source, code, nodes)
        yield from _take(source, function, nodes, reference)
        given = [one.arg for one in nodes_under(function.args) if isinstance(one, ast.arg)]
        known = [
            name for name in dict.fromkeys((*given, *_stored_names(function))) if name != "self"
        ]
        near = [difflib.get_close_matches(node.id, known, n=1, cutoff=ALIKE) for node in nodes]
        if all(near):
            edits = [replace(source, node, one[0]) for node, one in zip(nodes, near, strict=True)]
            yield from fix(f"write {', '.join(dict.fromkeys(one[0] for one in near))}", edits)


def _stored_names(function: Function) -> Iterator[str]:
    names = (node for node in nodes_under(function) if isinstance(node, ast.Name))
    return (node.id for node in names if isinstance(node.ctx, ast.Store))


def _import_modules(source: Source, code: PythonCode, nodes: Sequence[ast.Name]) -> tuple[Fix, ...]:
    """Import the modules that are known by these names."""
    lines = list(dict.fromkeys(names()["imports"].get(node.id, "") for node in nodes))
    future = [one for one in code.tree.body if getattr(one, "module", "") == "__future__"]
    body = [one for one in code.tree.body if one not in future and not isinstance(one, ast.Expr)]
    imports = [one for one in body if isinstance(one, ast.Import | ast.ImportFrom)]
    if not all(lines) or not body:
        return ()
    label = "import " + ", ".join(dict.fromkeys(node.id for node in nodes))
    first = (imports or body)[0]
    return fix(label, [insert_line_before(source, first, "\n".join(lines) + "\n")])


def _stay(source: Source, code: PythonCode, nodes: Sequence[ast.Name]) -> tuple[Fix, ...]:
    """`x` for `x.to(device)`: the inputs are on the device already."""
    edits: list[Edit | None] = []
    for node in nodes:
        match code.parents.get(node):
            case ast.Call(func=ast.Attribute(attr="to" | "cuda"), args=[_], keywords=[]) as move:
                owner = move.func.value  # type: ignore[attr-defined]
                start, end = source.span(owner)[1], source.span(move)[1]
                edits.append(Edit(start=start, end=end, text=""))
            case _:
                return ()
    return fix("leave it where it is: on the device", edits)


def _take(
    source: Source, function: Function, nodes: Sequence[ast.Name], reference: Sequence[str]
) -> tuple[Fix, ...]:
    """Add the parameters of the reference's method with these names."""
    own, asked = function.args.args, list(dict.fromkeys(node.id for node in nodes))
    if not own or function.args.posonlyargs or any(name not in reference for name in asked):
        return ()
    have = [argument.arg for argument in own]
    put_in: dict[int, str] = {}
    for name in asked:
        before = [have.index(o) for o in reference[: reference.index(name)] if o in have]
        at = source.span(own[before[-1] if before else 0])[1]
        put_in[at] = put_in.get(at, "") + f", {name}"
    last_plain = own[len(own) - len(function.args.defaults) - 1]
    if max(put_in) > source.span(last_plain)[1]:
        return ()
    edits = [Edit(start=at, end=at, text=words) for at, words in put_in.items()]
    return fix(f"take {', '.join(asked)} as the reference does", edits)


def never_set(source: Source, code: PythonCode, reads: Sequence[ast.Attribute]) -> Iterator[Fix]:
    """Yield likely fixes where `self.NAME` is read and never set.

    A constructor parameter of that name should be stored; otherwise another attribute is meant: first one that is set
    but never read, then one of similar spelling.
    """
    name, constructor = reads[0].attr, code.method("__init__")
    if constructor is not None and name in {a.arg for a in constructor.args.args[1:]}:
        last = constructor.body[-1]
        at, line = source.span(last)[1], f"\n{' ' * last.col_offset}self.{name} = {name}"
        yield from fix(f"keep {name} in the constructor", [Edit(start=at, end=at, text=line)])
    own = [one for one in code.of(ast.Attribute) if _is_of_self(one)]
    read = {one.attr for one in own if isinstance(one.ctx, ast.Load)}
    stored = list(dict.fromkeys(one.attr for one in own if not isinstance(one.ctx, ast.Load)))
    unread = [other for other in stored if other not in read]
    near = difflib.get_close_matches(name, stored, n=1, cutoff=ALIKE)
    for other in dict.fromkeys((*(unread if len(unread) == 1 else ()), *near)):
        ends = [source.span(node)[1] for node in reads]
        edits = [Edit(start=end - len(name), end=end, text=other) for end in ends]
        yield from fix(f"read self.{other}, which the constructor sets", edits)


def _is_of_self(node: ast.Attribute) -> bool:
    return isinstance(node.value, ast.Name) and node.value.id == "self"


def propose(finding: Finding, source: Source, context: Context) -> Iterator[Fix]:
    """Yield likely fixes of undefined names, or of an attribute that is never set."""
    code = source.module
    if finding.fixes:
        return
    read = (one for one in code.of(ast.Attribute) if one.attr in finding.names)
    reads = [one for one in read if _is_of_self(one) and isinstance(one.ctx, ast.Load)]
    if any(source.place(one) == finding.place for one in reads):
        yield from never_set(source, code, reads) if code.model is not None else ()
        return
    nodes = _first_uses(source, code, finding)
    function = code.function_of(nodes[0]) if nodes else None
    where = function.name if function is not None else ""
    if nodes and where not in INPUT_FUNCTIONS:
        yield from define_python_name(source, code, nodes, reference_parameters(context, where))


def _first_uses(source: Source, code: PythonCode, finding: Finding) -> list[ast.Name]:
    """Return the first use of each name of a finding, in the function that the finding is about."""
    every = [node for node in code.of(ast.Name) if node.id in finding.names]
    about = [code.function_of(node) for node in every if source.place(node) == finding.place]
    same = [node for node in reversed(every) if about and code.function_of(node) is about[0]]
    first = {node.id: node for node in same}
    return [first[name] for name in finding.names if name in first]


FIX = FixMaker(codes=("EXT003",), propose=propose)
