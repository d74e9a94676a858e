"""PRF012: the extension is built when the model is made or called."""

import ast
from collections.abc import Iterator

from grader.records import Context, Finding
from grader.rules.rule import Rule
from grader.source import Source
from grader.source.python_code import python_code


def check(source: Source, _context: Context) -> Iterator[Finding]:
    """Look for load_inline in what forward runs, and in constructors."""
    code = python_code(source)
    if code is None:
        return
    for extension in source.extensions:
        node = extension.node
        function = code.function_of(node)
        if function is None or any(isinstance(n, ast.If | ast.Try) for n in code.ancestors(node)):
            continue
        if function in code.reached:
            yield RULE.finding(
                source.place(node),
                "the extension is built, or at least looked up, on every call of forward",
            )
        elif function.name == "__init__":
            yield RULE.finding(
                source.place(node),
                "the extension is built when a model is made, not once at import",
                severity="note",
            )


_BAD = """
import torch
from torch.utils.cpp_extension import load_inline
class ModelNew(torch.nn.Module):
    def forward(self, x):
        ext = load_inline(name="e", cpp_sources=DECLARATION, cuda_sources="", functions=["f"])
        return ext.f(x)
"""
RULE = Rule(
    code="PRF012",
    name="build-in-hot-path",
    severity="warning",
    summary="The extension is compiled or looked up again when the model is created or called, instead of once at import.",
    why="load_inline hashes the sources, takes a lock and may compile, every time it is called. At module level it does that once.",
    bad=_BAD,
    good=_BAD.replace(
        "class",
        'ext = load_inline(name="e", cpp_sources=DECLARATION, cuda_sources="", functions=["f"])\n'
        "class",
    ).replace(
        '        ext = load_inline(name="e", cpp_sources=DECLARATION, cuda_sources="", functions=["f"])\n',
        "",
    ),
    languages=("cuda",),
    guards="In the constructor it is a note. A test that the extension isn't there yet makes it a lazy build, which is fine.",
    check=check,
)
