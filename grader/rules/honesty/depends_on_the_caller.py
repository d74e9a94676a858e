"""CHT011: forward depends on its caller, or on the number of calls."""

import ast
from collections.abc import Iterator, Mapping

from grader.rules import Context, Finding, Source, rule_of
from grader.rules.name_tables import read_names
from grader.source import dotted_name, nodes_under
from grader.source.analysis.decisions import decides_the_result, gives_nothing
from grader.source.python_code import PythonCode

NAMES = read_names(__file__)


def check(source: Source, _context: Context) -> Iterator[Finding]:
    """Check whether conditions of forward depend on a call count or on the caller."""
    code = source.module
    counters = _counters(code)
    for function in code.reached:
        chances = _chances(code, function)
        yield from _picks(source, code, function, chances)
        for node in nodes_under(function):
            if isinstance(node, ast.If | ast.IfExp | ast.While):
                for message, decides in _asked_by_condition(
                    code, function, node, counters, chances
                ):
                    yield RULE.finding(
                        source.place(node.test),
                        message,
                        severity={None: None, True: "error", False: "warning"}[decides],
                        rejects=bool(decides),
                    )


def _asked_by_condition(
    code: PythonCode,
    function: ast.AST,
    node: ast.If | ast.IfExp | ast.While,
    counters: set[str],
    chances: Mapping[str, str],
) -> Iterator[tuple[str, bool | None]]:
    """Yield a condition's dependence, and whether the result depends on it; None where a run shows that."""
    parts = [one for one in nodes_under(node.test) if isinstance(one, ast.Attribute | ast.Name)]
    for name in [dotted_name(one) for one in parts if dotted_name(one) in counters][:1]:
        yield (
            f"{name} counts the calls of forward, and this condition makes later calls do something else than the first ones",
            None,
        )
    drawn = _chance_drawn(code, node.test, chances)
    if drawn:
        decides = decides_the_result(code, function, node)
        yield (
            f"this condition asks {drawn}: what forward does depends on chance, the clock or its caller",
            decides,
        )
    texts = [str(n.value) for n in nodes_under(node.test) if isinstance(n, ast.Constant)]
    files = [one for one in texts if one.startswith(NAMES["gpu_files"])]
    asked = [
        *(code.canonical(one) for one in parts if code.canonical(one) in NAMES["caller"]),
        *files,
    ]
    if isinstance(node, ast.If) and gives_nothing(code, function, node):
        yield (
            "this condition asks for the machine, and what is returned then does not depend on the input",
            True,
        )
    elif asked:
        machine = bool(files) or not {*NAMES["of_a_build"]}.isdisjoint(texts)
        tells = machine and decides_the_result(code, function, node)
        yield f"this condition asks {asked[0]}: what forward does depends on who calls it", tells


def _picks(
    source: Source, code: PythonCode, function: ast.AST, chances: Mapping[str, str]
) -> Iterator[Finding]:
    """Report the choice of the fastest of several ways, by their times."""
    times = {**chances, **_lists(code, function, chances)}
    for node in nodes_under(function):
        if isinstance(node, ast.Call) and code.canonical(node.func) in NAMES["picks"] and node.args:
            drawn = _chance_drawn(code, node.args[0], times)
            if drawn:
                yield RULE.finding(
                    source.place(node),
                    f"this picks by {drawn}: which of several ways forward takes hangs on the clock, and the "
                    "results and times of a review are those of one of them",
                )
                return


def _lists(code: PythonCode, function: ast.AST, chances: Mapping[str, str]) -> dict[str, str]:
    """Return the lists and dictionaries that hold such values, and the values' source."""
    found: dict[str, str] = {}
    for node in nodes_under(function):
        match node:
            case ast.Call(func=ast.Attribute(value=held, attr="append"), args=[value]):
                pass
            case ast.Assign(targets=[ast.Subscript(value=held)], value=value):
                pass
            case _:
                continue
        if drawn := _chance_drawn(code, value, chances):
            found[dotted_name(held)] = drawn
    return found


def _counters(code: PythonCode) -> set[str]:
    """Return the attributes and globals that forward counts up across calls."""
    found: set[str] = set()
    for function in code.reached:
        nodes = list(nodes_under(function))
        lasting = {name for node in nodes if isinstance(node, ast.Global) for name in node.names}
        for node in nodes:
            match node:
                case ast.AugAssign(op=ast.Add(), value=ast.Constant(), target=target):
                    name = dotted_name(target)
                    lasts = name.startswith(("self.", "ModelNew.")) or name in lasting
                    found |= {name} if lasts else set()
    return found


def _chances(code: PythonCode, function: ast.AST) -> dict[str, str]:
    """Return the names of a function with values of the clock or random numbers, and their source."""
    found: dict[str, str] = {}
    for node in nodes_under(function):
        if isinstance(node, ast.Assign | ast.NamedExpr) and (
            drawn := _chance_drawn(code, node.value, found)
        ):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found.update((dotted_name(target), drawn) for target in targets if dotted_name(target))
    return found


def _chance_drawn(code: PythonCode, test: ast.AST, chances: Mapping[str, str]) -> str:
    """Return an expression's source: clock, process or random numbers; "" for none."""
    nodes = [n for n in nodes_under(test) if isinstance(n, ast.Attribute | ast.Name)]
    if any(isinstance(node, ast.Attribute) and node.attr == "training" for node in nodes):
        return ""  # layers that training leaves out by chance
    for node in nodes:
        name = code.canonical(node)
        if dotted_name(node) in chances:
            return chances[dotted_name(node)]
        if name.startswith((*NAMES["chance"], *NAMES["around"])) or name.endswith(".elapsed_time"):
            return name
    return ""


RULE = rule_of(__file__, check)
