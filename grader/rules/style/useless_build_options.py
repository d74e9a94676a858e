"""STY004: build options that do nothing."""

import ast
import re
from collections.abc import Iterator

from grader.rules import Context, Finding, Source, fix, rule_of
from grader.source import Extension
from grader.source.code_edits import delete_keyword, drop_flags
from grader.source.python_code import constant_text

LISTS = ("extra_cflags", "extra_cuda_cflags", "extra_ldflags")
LAMBDAS = re.compile(r"--?(?:expt-)?extended-lambda")
DEVICE_LAMBDA = re.compile(r"\]\s*(?:__host__\s*)?__device__")


def check(source: Source, _context: Context) -> Iterator[Finding]:
    """Look for empty flags, flags that are always given, and verbose output."""
    for extension in source.extensions:
        for name in LISTS:
            yield from _flags(source, extension, name)
        verbose = extension.keywords.get("verbose")
        if isinstance(verbose, ast.Constant) and verbose.value is True:
            edit = delete_keyword(source, extension.node, "verbose")
            yield RULE.finding(
                source.place(verbose),
                "verbose=True prints the whole build",
                fixes=fix("leave the option out", [edit], certain=True),
                folded=True,
            )


def _flags(source: Source, extension: Extension, name: str) -> Iterator[Finding]:
    value = extension.keywords.get(name)
    if not isinstance(value, ast.List):
        return
    useless = {
        flag: _why(extension, flag) for flag in map(constant_text, value.elts) if flag is not None
    }
    said = [why for why in useless.values() if why]
    if said:
        edits = drop_flags(source, extension.node, name, lambda flag: bool(useless.get(flag)))
        yield RULE.finding(
            source.place(value),
            f"{name}: {'; '.join(said)}",
            fixes=fix("leave the option out", edits, certain=True),
            folded=True,
        )


def _why(extension: Extension, flag: str) -> str:
    """Return why a flag has no effect; empty where it has one."""
    if not flag.strip():
        return "an empty flag does nothing"
    if flag == "-DWITH_CUDA":
        return f"{flag} is always given"
    lambdas = any(DEVICE_LAMBDA.search(unit.text) for unit in extension.units)
    idle = LAMBDAS.fullmatch(flag) and not lambdas
    return f"{flag} is for device lambdas, and there is none" if idle else ""


RULE = rule_of(__file__, check)
