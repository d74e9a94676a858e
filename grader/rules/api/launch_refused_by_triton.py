"""API009: Triton refuses a launch before the kernel runs."""

import ast
import re
from collections.abc import Callable, Iterator, Mapping

from grader.records import Raised
from grader.rules import Context, Finding, Fix, Source, fix, rule_of
from grader.source.analysis.triton import Launch, kernels, launches
from grader.source.code_edits import add_argument, delete_keyword, replace

Told = tuple[ast.AST, str, tuple[Fix, ...]]
MISSING = re.compile(r"missing \d+ required positional arguments?: (?P<names>.*)")
AGAIN = re.compile(r"got multiple values for argument '(?P<name>\w+)'")
UNKNOWN = re.compile(r"(?:unexpected keyword argument|Keyword argument) '?(?P<name>\w+)'?")
UNKNOWN_KEY = re.compile(r"names that are not kernel arguments: (?P<names>[\w, ]+)")
UNDEFINED = re.compile(r"name '(?P<names>\w+)' is not defined")
NO_TUPLE = re.compile(
    r"object of type '\w+' has no len|'float' object cannot be interpreted|integer argument expected"
)
TWICE = re.compile(r"Conflicting meta-parameters: (?P<names>[\w, ]+)\.")
ON_CPU = re.compile(r"Pointer argument \(at (?P<index>\d+)\) cannot be accessed")
NO_GRID = re.compile(r"Cannot call @triton\.jit'd outside of the scope of a kernel")
RESOURCES = re.compile(r"out of resource: (?P<what>[\w ]+), Required: (?P<asked>\d+), Hardware limit: (?P<most>\d+)")  # fmt: skip


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Report each refusal at its launch."""
    for item in context.evidence_of("python"):
        for pattern, tell in READERS.items():
            raised = item.details.said if isinstance(item.details, Raised) else ""
            found = pattern.search(raised)
            told = tell(source, found) if found else None
            if told is not None:
                node, said, fixes = told
                yield RULE.finding(
                    source.place(node),
                    f"{said} ({item.text.rstrip('.')})",
                    evidence=(item,),
                    fixes=fixes,
                )


def _missing_argument(source: Source, found: re.Match[str]) -> Told | None:
    names = re.findall(r"'(\w+)'", found["names"])
    for launch in launches(source):
        if set(names) <= set(launch.kernel.parameters) - set(launch.arguments):
            known = {n.id for n in ast.walk(launch.host or launch.call) if isinstance(n, ast.Name)}
            more = ", ".join(f"{name}={name}" for name in names)
            edit = add_argument(source, launch.call, more)
            said = f"the launch of `{launch.kernel.name}` lacks {', '.join(names)}"
            fixes = fix(f"pass {', '.join(names)}", [edit]) if set(names) <= known else ()
            return launch.call, said, fixes
    return None


def _unknown_argument(source: Source, found: re.Match[str]) -> Told | None:
    name = found["name"]
    calls = [(one.call, one.kernel.name) for one in launches(source) if name not in one.kernel.parameters[len(one.call.args) :]]  # fmt: skip
    calls += [(one, "triton.Config") for one in source.walk(ast.Call) if source.module.canonical(one.func) == "triton.Config"]  # fmt: skip
    given = [one for one in calls if any(word.arg == name for word in one[0].keywords)]
    edits = [delete_keyword(source, call, name) for call, _ in given]
    lacks = (
        "has no parameter" if found.re is UNKNOWN else "is given by its place and again by its name"
    )
    said = f"`{given[0][1]}` {lacks} {name}" if given else ""
    return (given[0][0], said, fix(f"leave {name} out", edits)) if given else None


def _unknown_key(source: Source, found: re.Match[str]) -> Told | None:
    """Return the autotuning key that isn't a parameter."""
    names = set(found["names"].split(", "))
    for tuned in filter(None, (one.tuned for one in kernels(source))):
        for key in (word.value for word in tuned.keywords if word.arg == "key"):
            known = [one for one in ast.walk(key) if isinstance(one, ast.Constant)]
            kept = [source.text(one) for one in known if one.value not in names]
            if len(kept) < len(known):
                said = f"autotuning goes by {', '.join(sorted(names))}, and the kernel has no such parameter"
                edit = replace(source, key, f"[{', '.join(kept)}]")
                return key, said, fix("go by what the kernel has", [edit])
    return None


def _twice(source: Source, found: re.Match[str]) -> Told | None:
    """Return the first launch that passes a value chosen by autotuning, through the grid's argument or as a number."""
    said = set(found["names"].split(", "))
    again = [
        (one, name)
        for one in launches(source)
        for name, value in one.arguments.items()
        if one.kernel.tuned is not None and name in one.kernel.constants
        if said & {name, *(node.id for node in ast.walk(value) if isinstance(node, ast.Name))}
    ]
    edits = [delete_keyword(source, one.call, name) for one, name in again]
    names = ", ".join(dict.fromkeys(name for _, name in again))
    text = f"autotuning chooses {names}, and the launch gives it as well"
    return (again[0][0].call, text, fix(f"leave {names} to autotuning", edits)) if again else None


def _grid_form(source: Source, _: re.Match[str]) -> Told | None:
    """Return the grid that isn't a tuple of integers."""
    for launch in launches(source):
        grid = launch.grid.body if isinstance(launch.grid, ast.Lambda) else launch.grid
        parts = grid.elts if isinstance(grid, ast.Tuple) else [grid]
        alone = parts[0] is grid and not isinstance(grid, ast.Name)
        if alone or any(isinstance(node, ast.Div) for node in ast.walk(grid)):
            whole = re.sub(r"(?<!/)/(?!/)", "//", source.text(grid))
            edit = replace(source, grid, f"({whole},)" if alone else whole)
            fixes = fix(f"launch it over `{edit.text}`", [edit])
            return grid, "the grid has to be a tuple of whole numbers", fixes
    return None


def _on_cpu(source: Source, found: re.Match[str]) -> Told | None:
    index = int(found["index"])
    for launch in launches(source):
        name = launch.kernel.parameters[index] if index < len(launch.kernel.parameters) else ""
        if value := launch.arguments.get(name):
            said = f"`{source.text(value)}` lies in the CPU's memory, and `{launch.kernel.name}` is given its address"
            return launch.call, said, ()
    return None


def _no_grid(source: Source, _: re.Match[str]) -> Told | None:
    names = {one.name for one in kernels(source)}
    inside = {id(node) for one in kernels(source) for node in ast.walk(one.node)}
    grid = next((n.id for n in source.walk(ast.Name) if "grid" in n.id.lower()), "")
    for call in source.walk(ast.Call):
        if isinstance(call.func, ast.Name) and call.func.id in names and id(call) not in inside:
            edit = replace(source, call.func, f"{call.func.id}[{grid}]") if grid else None
            said = f"`{call.func.id}` is called without a grid"
            return call, said, fix("launch it over the grid", [edit])
    return None


def _resources(source: Source, found: re.Match[str]) -> Told | None:
    for launch in launches(source)[-1:]:
        said = f"a block of `{launch.kernel.name}` needs more {found['what']} than there is: {found['asked']} of {found['most']}"
        return launch.call, said, tuple(_smaller(source, launch))
    return None


def _smaller(source: Source, launch: Launch) -> Iterator[Fix]:
    """Yield the launch with smaller blocks, and few stages."""
    given = [v for name, v in launch.arguments.items() if name in launch.kernel.constants]
    numbers = [v for v in given if source.text(v).isdecimal() and int(source.text(v)) > 32]
    edits = [replace(source, value, "32") for value in numbers]
    if edits:
        stages = launch.arguments.get("num_stages")
        edits += [replace(source, stages, "2")] if stages is not None else []
        yield from fix("take blocks of 32", edits)


READERS: Mapping[re.Pattern[str], Callable[[Source, re.Match[str]], Told | None]] = {
    MISSING: _missing_argument,
    AGAIN: _unknown_argument,
    UNKNOWN: _unknown_argument,
    TWICE: _twice,
    UNDEFINED: _twice,
    UNKNOWN_KEY: _unknown_key,
    NO_TUPLE: _grid_form,
    ON_CPU: _on_cpu,
    NO_GRID: _no_grid,
    RESOURCES: _resources,
}
RULE = rule_of(__file__, check)
