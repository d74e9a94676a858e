"""STY004: build options that do nothing."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from grader.records import Context, Edit, Finding
from grader.rules.rule import Rule
from grader.source import Extension, Source
from grader.source.code_edits import delete_item, delete_keyword, fix
from grader.source.python_code import constant_text

LISTS = ("extra_cflags", "extra_cuda_cflags", "extra_ldflags")
GIVEN = {"-DWITH_CUDA"}
LAMBDAS = {
    "--expt-extended-lambda",
    "--extended-lambda",
    "-extended-lambda",
    "-expt-extended-lambda",
}
DEVICE_LAMBDA = re.compile(r"\]\s*(?:__host__\s*)?__device__")


def check(source: Source, _context: Context) -> Iterator[Finding]:
    """Look for empty flags, flags that are always given, and verbose output."""
    for extension in source.extensions:
        for name in LISTS:
            value = extension.keywords.get(name)
            if isinstance(value, ast.List):
                yield from _flags(source, extension, name, value)
        verbose = extension.keywords.get("verbose")
        if isinstance(verbose, ast.Constant) and verbose.value is True:
            edit = delete_keyword(source, extension.node, "verbose")
            yield RULE.finding(
                source.place(verbose),
                "verbose=True prints the whole build",
                fixes=fix("leave the option out", [edit], certain=True),
                folded=True,
            )


def _flags(source: Source, extension: Extension, name: str, value: ast.List) -> Iterator[Finding]:
    useless: list[tuple[ast.expr, str]] = []
    for element in value.elts:
        flag = constant_text(element)
        if flag is None:
            continue
        if not flag.strip():
            useless.append((element, "an empty flag does nothing"))
        elif flag in GIVEN:
            useless.append((element, f"{flag} is always given"))
        elif flag in LAMBDAS and not any(
            DEVICE_LAMBDA.search(unit.text) for unit in extension.units
        ):
            useless.append((element, f"{flag} is for device lambdas, and there is none"))
    if not useless:
        return
    end = source.span(value)[1]
    edits: list[Edit | None] = (
        [delete_keyword(source, extension.node, name)]
        if len(useless) == len(value.elts)
        else [delete_item(source, element, end) for element, _ in useless[:1]]
    )
    yield RULE.finding(
        source.place(value),
        f"{name}: " + "; ".join(dict.fromkeys(why for _, why in useless)),
        fixes=fix("leave the option out", edits, certain=True),
        folded=True,
    )


HEAD = "import torch\nfrom torch.utils.cpp_extension import load_inline\n"
RULE = Rule(
    code="STY004",
    name="useless-build-options",
    severity="note",
    summary="Build options that do nothing or print a lot.",
    why="They are copied from one example to the next. Without them it is clear which options matter.",
    bad=(
        f'{HEAD}ext = load_inline(name="e", cpp_sources="", cuda_sources="", functions=["f"],\n'
        '                  extra_cflags=["-DWITH_CUDA"], extra_ldflags=[""], verbose=True)\n'
    ),
    good=f'{HEAD}src = "auto f = [] __device__ (int i) {{ return i; }};"\n'
    'ext = load_inline(name="e", cpp_sources="", cuda_sources=src, functions=["f"],\n'
    '    extra_cuda_cflags=["-O3", "--use_fast_math", "--expt-extended-lambda"], verbose=False)\n',
    detects=("text",),
    languages=("cuda",),
    guards="-O3 and --use_fast_math do something. Most submissions have such options: folded.",
    fix="Leaves the option out.",
    check=check,
)
