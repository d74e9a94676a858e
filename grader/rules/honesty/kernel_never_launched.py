"""CHT003: a kernel that never runs or whose result goes nowhere, or the reference in its place."""

import ast
from collections.abc import Iterator

from tree_sitter import Node

from grader.records.observed import KERNELS_MATTER, seen_wrong
from grader.rules import Context, Finding, Place, Source, Unit, fix, rule_of
from grader.source import Kernel, dotted_name, nodes_under
from grader.source.analysis.data_flow import (
    assignments,
    depends,
    parameters,
    returns,
    tainted_names,
)
from grader.source.analysis.extension_use import (
    computes_with_torch,
    holders,
    mentions,
    refers,
    uses_operators,
)
from grader.source.analysis.started_kernels import is_started
from grader.source.analysis.triton import kernels as triton_kernels
from grader.source.analysis.triton import launches as triton_launches
from grader.source.code_edits import delete_lines_of
from grader.source.library_calls import library_calls
from grader.source.python_code import Function, PythonCode

REFERENCE = {"Model", "RefModel", "ReferenceModel", "OriginalModel"}


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Follow the path from forward to the launch of each kernel, and back to the returned result."""
    yield from _kernels(source)
    code = source.module
    if code.model is not None:
        yield from _by_the_reference(source, code, code.model)
    forward = code.method("forward")
    if forward is None or not (source.extensions or triton_kernels(source)):
        return
    names = holders(source, code)
    if not names or uses_operators(code):
        return
    used = any(refers(node, names) for function in code.reached for node in code.live(function))
    if used or context.launches:  # launches were seen inside forward
        matter = any(item.code == KERNELS_MATTER for item in context.evidence_of("probe"))
        yield from _thrown_away(source, code, forward, names, matter=matter)
        return
    own = "the extension" if source.extensions else "the kernel"
    written = any(mentions(function, names) for function in code.reached)
    torch_does_it = any(_computes(code, function) for function in code.reached)
    way = f"the branch of forward that calls {own} never runs" if written else f"forward never calls {own}"  # fmt: skip
    yield RULE.finding(
        source.line_place(forward.lineno),
        f"{way}: the kernels play no part in the result",
        severity="error" if torch_does_it or seen_wrong(context) else "warning",
        rejects=torch_does_it,
    )


# kernels that nothing launches


def _kernels(source: Source) -> Iterator[Finding]:
    if any(unit.tree.has_error or not unit.resolved for unit in source.cuda):
        return
    kernels = [(unit, kernel) for unit in source.cuda for kernel in unit.kernels]
    names = {kernel.name for _, kernel in kernels}
    started = {name for name in names if is_started(source, name)}
    idle = [(unit, kernel) for unit, kernel in kernels if kernel.name not in started]
    for unit, kernel in idle[:1] if len(idle) == len(kernels) else ():
        called = next((pair for one in source.units for pair in library_calls(one)), None)
        more = f"; {called[1].name} computes in their place" if called else ""
        listed = [one.name for _, one in idle]
        yield RULE.finding(
            _head(unit, kernel),
            f"nothing launches {', '.join(listed[:3])}: no kernel of this submission ever runs{more}",
            severity="warning" if called else "error",
            kernels=listed,
        )
    for unit, kernel in idle if len(idle) < len(kernels) else ():
        yield RULE.finding(
            _head(unit, kernel),
            f"the kernel {kernel.name} is never launched",
            severity="note",
            predicts="no-launch",
            fixes=fix(f"delete {kernel.name}", [delete_lines_of(unit, _with_template(kernel))]),
            kernels=[kernel.name],
        )


def _head(unit: Unit, kernel: Kernel) -> Place:
    end = kernel.body.start_byte if kernel.body is not None else kernel.node.end_byte
    return unit.place_span(kernel.node.start_byte, end)


def _with_template(kernel: Kernel) -> Node:
    outer = kernel.node.parent
    return outer if outer is not None and outer.type == "template_declaration" else kernel.node


# results that go nowhere


def _thrown_away(
    source: Source, code: PythonCode, forward: Function, names: set[str], *, matter: bool
) -> Iterator[Finding]:
    """Follow the results of kernels; only a run shows that one working in place on a view matters (`matter`)."""

    def starts(node: ast.AST) -> bool:
        return isinstance(node, ast.Call) and mentions(node.func, names)

    given = set(parameters(forward))
    from_kernel = tainted_names(forward, set(names), starts) - given
    results = returns(code, forward)
    calls = [one for one in nodes_under(forward) if isinstance(one, ast.Call) and starts(one)]
    if not results or not calls:
        return
    used = any(depends(value, from_kernel, starts) for _, value in results)
    in_place = any(isinstance(value, ast.Name) and value.id in given for _, value in results)
    by_torch = [node for node, value in results if _by_torch(code, value, forward)]
    writes = _all_void(source, calls) or _writes_into(source, given)
    if by_torch and not (matter or used or in_place or writes):
        yield RULE.finding(
            source.place(by_torch[0]),
            f"the result of the kernel (line {calls[0].lineno}) is not what is returned: PyTorch computes that",
            severity="error",
            rejects=True,
        )
    for node, other in _times_zero(forward):
        if depends(other, from_kernel, starts):
            yield RULE.finding(
                source.place(node),
                "the kernel's result is multiplied by zero: it plays no part in what is returned",
                severity="error",
                rejects=True,
            )


def _times_zero(forward: Function) -> Iterator[tuple[ast.BinOp, ast.expr]]:
    """Yield each product with zero, and its other operand."""
    for node in nodes_under(forward):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
            for zero, other in ((node.left, node.right), (node.right, node.left)):
                if isinstance(zero, ast.Constant) and zero.value == 0 and zero.value is not False:
                    yield node, other


def _computes(code: PythonCode, node: ast.AST) -> bool:
    return next(computes_with_torch(code, node), None) is not None


def _by_torch(code: PythonCode, value: ast.expr, forward: Function) -> bool:
    """Whether torch computes a value, one plain name followed to what it is assigned."""
    made = assignments(forward, value.id) if isinstance(value, ast.Name) else ()
    return any(_computes(code, one.value) for one in made) if made else _computes(code, value)


def _writes_into(source: Source, given: set[str]) -> bool:
    """Whether a Triton kernel may write into one of these names, or into unnamed memory."""
    for one in triton_launches(source):
        writing = (access for access in one.kernel.accesses if access.kind != "load")
        targets = [one.arguments.get(one.kernel.parameter_of(access)) for access in writing]
        if not all(isinstance(to, ast.Name) and to.id not in given for to in targets):
            return True
    return False


def _all_void(source: Source, calls: list[ast.Call]) -> bool:
    """Whether the functions called return nothing, so that they must write into an argument."""
    functions = (f for unit in source.units for f in (*unit.functions, *unit.declarations))
    kinds = {function.name: function.return_type for function in functions}
    names = [call.func.attr for call in calls if isinstance(call.func, ast.Attribute)]
    void = all("Tensor" not in kinds.get(name, "void") for name in names)
    return void and not triton_launches(source)


# the reference under another name


def _by_the_reference(source: Source, code: PythonCode, model: ast.ClassDef) -> Iterator[Finding]:
    """Report a forward that is inherited from the reference, or calls it."""
    names, forward = holders(source, code), code.method("forward")
    bases = (code.canonical(base).rsplit(".", 1)[-1] for base in model.bases)
    base = next((name for name in bases if name in REFERENCE), "")
    if base in names:  # the file's own class with kernels, named like the reference
        return
    place, said = None, ""
    if forward is None:
        place = source.line_place(model.lineno) if base and not _redone(code, model) else None
        said = f"ModelNew inherits the reference's forward from {base}: it is the reference itself"
    elif not mentions(forward, names):
        found = next(_reference_results(code, forward, base), None)
        place = source.place(found) if found is not None else None
        said = "forward hands its input to the reference model and returns what that computes"
    if place is not None:
        yield RULE.finding(place, said, severity="error", predicts="nothing", rejects=True)


def _redone(code: PythonCode, model: ast.ClassDef) -> bool:
    """Whether forward, or a method or attribute that it uses, is replaced later."""
    methods = {node.name for node in model.body if isinstance(node, Function)}
    constructor = code.method("__init__")
    inside = list(nodes_under(constructor)) if constructor is not None else []
    sets = any(isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store) for n in inside)
    targets = [target for node in code.of(ast.Assign) for target in node.targets]
    named = {t.attr if isinstance(t, ast.Attribute) else dotted_name(t) for t in targets}
    return bool(methods - {"__init__", "extra_repr"}) or sets or "forward" in named


def _reference_results(code: PythonCode, forward: Function, base: str) -> Iterator[ast.Return]:
    """Yield the returns of a result from an instance of the reference, or from the base's forward."""
    models = {
        dotted_name(target)
        for node in code.of(ast.Assign)
        if isinstance(node.value, ast.Call)
        and code.canonical(node.value.func).rsplit(".", 1)[-1] in REFERENCE
        for target in node.targets
    } - {""}
    for node in nodes_under(forward):
        if isinstance(node, ast.Return) and isinstance(node.value, ast.Call):
            called = node.value.func
            if dotted_name(called) in models or (base and _is_base_forward(called)):
                yield node


def _is_base_forward(node: ast.AST) -> bool:
    match node:
        case ast.Attribute(attr="forward", value=ast.Call(func=owner)):
            return dotted_name(owner) == "super"
        case ast.Attribute(attr="forward", value=owner):
            return dotted_name(owner) in REFERENCE
    return False


RULE = rule_of(__file__, check, predicts="no-launch")
