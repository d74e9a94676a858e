"""Fixes of where a build call's sources are: under another name, in the place of a file's, or nowhere."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from grader.records import Edit
from grader.source import dotted
from grader.source.code_edits import fix, prototype, quoted, replace

if TYPE_CHECKING:
    from grader.records import Fix
    from grader.source import Extension, Function, Source, Unit


@dataclass(frozen=True)
class CudaText:
    """An expression that stands for a CUDA text."""

    written: ast.expr
    """As the call has it: a name, or the string itself."""
    unit: Unit | None


def cuda_texts(source: Source, node: ast.expr) -> list[CudaText]:
    """Return what is CUDA's text in an expression: itself, or what a list or a tuple holds."""
    if isinstance(node, ast.List | ast.Tuple):
        return [found for item in node.elts for found in cuda_texts(source, item)]
    value = node
    if isinstance(node, ast.Name):
        bound = (one for one in source.walk(ast.Assign) if node.id in map(dotted, one.targets))
        value = next((one.value for one in bound), node)
    if not isinstance(value, ast.Constant | ast.JoinedStr):
        return []
    lines = range(value.lineno, (value.end_lineno or value.lineno) + 1)
    unit = next((one for one in source.cuda if one.place_line(1).line in lines), None)
    if "__global__" not in source.text(value):
        return []
    return [CudaText(node, unit)]


def as_cuda_sources(source: Source, extension: Extension, word: ast.keyword) -> tuple[Fix, ...]:
    """WorkerProcess over as `cuda_sources` what a call of load_inline gives another name."""
    texts = cuda_texts(source, word.value)
    if not texts or "cuda_sources" in extension.keywords:
        return ()
    listed = ", ".join(source.text(one.written) for one in texts)
    return fix("hand it over as cuda_sources", [replace(source, word, f"cuda_sources=[{listed}]")])


def with_cpp_sources(source: Source, extension: Extension) -> tuple[Fix, ...]:
    """Pass the prototypes of what is exported as `cpp_sources`, which can't be left out."""
    declared = "\n".join(map(prototype, to_export(source, extension, extension.cuda)))
    words = extension.node.keywords
    if not words:
        return ()
    at = source.span(words[0])[0]
    return fix(
        "pass cpp_sources", [Edit(start=at, end=at, text=f"cpp_sources={quoted(declared)}, ")]
    )


def inline(source: Source, extension: Extension) -> tuple[Fix, ...]:
    """Call load_inline in the place of `load`, which takes the names of files, with the texts that it is given."""
    sources = extension.keywords.get("sources")
    word = next((one for one in extension.node.keywords if one.arg == "sources"), None)
    texts = cuda_texts(source, sources) if sources is not None else []
    if word is None or not texts or not all(one.unit is not None for one in texts):
        return ()
    units = tuple(one.unit for one in texts if one.unit is not None)
    functions = [] if any(unit.bindings for unit in units) else to_export(source, extension, units)
    listed = ", ".join(source.text(one.written) for one in texts)
    given = [
        f"cpp_sources={quoted(chr(10).join(map(prototype, functions)))}",
        f"cuda_sources=[{listed}]",
        *([f"functions={[one.name for one in functions]!r}"] if functions else []),
    ]
    edits = [replace(source, word, ", ".join(given)), *_named_anew(source, extension.node)]
    return fix("build it with load_inline, which takes texts", edits)


def _named_anew(source: Source, call: ast.Call) -> Iterator[Edit | None]:
    """Yield the edits that call load_inline, and import it beside `load` or in its place."""
    function = call.func
    if isinstance(function, ast.Attribute):
        end = source.span(function)[1]
        yield Edit(start=end - len(function.attr), end=end, text="load_inline")
        return
    yield replace(source, function, "load_inline")
    if not isinstance(function, ast.Name):
        return
    called = sum(isinstance(one.func, ast.Name) and one.func.id == function.id for one in source.walk(ast.Call))  # fmt: skip
    for imported in source.walk(ast.ImportFrom):
        names = [alias.name for alias in imported.names]
        if imported.module != "torch.utils.cpp_extension" or "load_inline" in names:
            continue
        for alias in imported.names:
            if (alias.asname or alias.name) == function.id:
                kept = f"{source.text(alias)}, " if called > 1 else ""
                yield replace(source, alias, f"{kept}load_inline")


def to_export(source: Source, extension: Extension, units: tuple[Unit, ...]) -> list[Function]:
    """Return the host functions of these texts that the call exports, else those that Python calls, else all with tensors."""
    hosts = [f for unit in units for f in unit.host_functions if f.body is not None]
    hosts = [f for f in hosts if not f.template_parameters]
    called = {node.attr for node in source.walk(ast.Attribute)}
    ways = (
        [f for f in hosts if f.name in (extension.functions or ())],
        [f for f in hosts if f.name in called],
        [f for f in hosts if "Tensor" in f.return_type],
    )
    return next(filter(None, ways), [])
