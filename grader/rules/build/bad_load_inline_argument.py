"""BLD017: load_inline, or load, gets an argument that it does not take, or lacks one."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from difflib import get_close_matches

from grader.records import Context, Edit, Finding, Fix
from grader.rules.rule import Rule
from grader.source import Extension, Source
from grader.source.analysis.diagnostics import confirming
from grader.source.analysis.exports import to_export
from grader.source.code_edits import delete_item, fix, prototype, quoted, replace

LOAD_INLINE = {
    "name", "cpp_sources", "cuda_sources", "functions", "extra_cflags", "extra_cuda_cflags",
    "extra_ldflags", "extra_include_paths", "build_directory", "verbose", "with_cuda",
    "is_python_module", "with_pytorch_error_handling", "keep_intermediates", "use_pch",
}  # fmt: skip
LOAD = {
    "name", "sources", "extra_cflags", "extra_cuda_cflags", "extra_ldflags", "extra_include_paths",
    "build_directory", "verbose", "with_cuda", "is_python_module", "is_standalone",
    "keep_intermediates",
}  # fmt: skip
LATER = {"no_implicit_headers": (2, 7), "sycl_sources": (2, 7), "extra_sycl_cflags": (2, 7),
         "with_sycl": (2, 7), "gil_not_used": (2, 10)}  # fmt: skip
LISTS = ("extra_cflags", "extra_cuda_cflags", "extra_ldflags", "extra_include_paths")
OF_NVCC = (
    "--use_fast_math", "-use_fast_math", "--expt-", "-gencode", "--generate-code", "-arch=",
    "--ptxas-options", "-Xptxas", "-Xcompiler", "--maxrregcount", "-maxrregcount", "-lineinfo",
    "--extended-lambda", "-G", "-rdc", "--ftz", "-ftz", "--fmad", "-fmad", "--threads", "-keep",
)  # fmt: skip
"""How flags begin that the C++ compilers refuse."""
SYCL_FROM = (2, 7)
"""From this torch on the fourth positional argument is `sycl_sources`, no longer `functions`."""


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Check the arguments of each load_inline call against its signature."""
    for extension in source.extensions:
        yield from _unknown(source, extension, context)
        if extension.call == "load_inline":
            yield from _without_cpp(source, extension, context)
            yield from _flags(source, extension)
            yield from _flags_of_nvcc(source, extension, context)
            yield from _functions(source, extension, context)
            yield from _name(source, extension)
            yield from _positional(source, extension, context)


def _unknown(source: Source, extension: Extension, context: Context) -> Iterator[Finding]:
    inline = extension.call == "load_inline"
    own = LOAD_INLINE if inline else LOAD
    known = own | {name for name, since in LATER.items() if context.torch_version >= since}
    for word in extension.node.keywords:
        if word.arg is None or word.arg in known:
            continue
        evidence = confirming(context, ("python-argument",), (word.arg,), run=True)
        close = get_close_matches(word.arg, sorted(own - set(extension.keywords)), 1, 0.85)
        start = source.span(word)[0]
        edit = (
            Edit(start=start, end=start + len(word.arg), text=close[0])
            if close
            else delete_item(source, word, source.span(extension.node)[1])
        )
        since = LATER.get(word.arg)
        yield RULE.finding(
            source.place(word),
            f"{extension.call} has no argument {word.arg}"
            + (f" before torch {since[0]}.{since[1]}" if since else "")
            + (f"; {close[0]} is meant" if close else ""),
            evidence=evidence,
            fixes=fix(f"call it {close[0]}" if close else f"drop {word.arg}", [edit]),
        )


def _without_cpp(source: Source, extension: Extension, context: Context) -> Iterator[Finding]:
    call = extension.node
    spread = any(isinstance(one, ast.Starred) for one in call.args)
    if "cpp_sources" in extension.keywords or spread or any(w.arg is None for w in call.keywords):
        return
    evidence = confirming(context, ("python-argument",), ("cpp_sources",), run=True)
    yield RULE.finding(
        source.place(call),
        "load_inline is called without cpp_sources, which it can't do without: TypeError; the prototypes of what is exported belong there",
        evidence=evidence,
        fixes=_with_cpp_sources(source, extension),
    )


def _with_cpp_sources(source: Source, extension: Extension) -> tuple[Fix, ...]:
    """Pass the prototypes of what is exported as `cpp_sources`."""
    declared = "\n".join(map(prototype, to_export(source, extension, extension.cuda)))
    if not extension.node.keywords:
        return ()
    at = source.span(extension.node.keywords[0])[0]
    words = f"cpp_sources={quoted(declared)}, "
    return fix("pass cpp_sources", [Edit(start=at, end=at, text=words)])


def _flags(source: Source, extension: Extension) -> Iterator[Finding]:
    for name in LISTS:
        value = extension.keywords.get(name)
        if not isinstance(value, ast.Constant | ast.JoinedStr):
            continue
        if isinstance(value, ast.Constant) and not isinstance(value.value, str):
            continue
        if isinstance(value, ast.Constant) and not str(value.value).strip():
            continue
        written = source.text(value)
        parts = str(value.value).split() if isinstance(value, ast.Constant) else []
        new = repr(parts) if len(parts) > 1 else f"[{written}]"
        yield RULE.finding(
            source.place(value),
            f"{name} is one string; torch walks over it as over a list, one letter at a time, and the compiler gets letters for flags",
            fixes=fix("make it a list", [replace(source, value, new)], certain=True),
        )


def _flags_of_nvcc(source: Source, extension: Extension, context: Context) -> Iterator[Finding]:
    value = extension.keywords.get("extra_cflags")
    if not isinstance(value, ast.List):
        return
    end = source.span(value)[1]
    failed = [e for e in context.seen("python") if "Error building extension" in e.said]
    refused = [] if context.seen("compiler") else failed
    for item in value.elts:
        flag = item.value if isinstance(item, ast.Constant) else None
        if isinstance(flag, str) and flag.startswith(OF_NVCC):
            yield RULE.finding(
                source.place(item),
                f"{flag} is nvcc's; extra_cflags goes to the C++ compiler, which does not know it",
                evidence=refused,
                fixes=fix(f"drop {flag}", [delete_item(source, item, end)], certain=True),
            )


def _functions(source: Source, extension: Extension, context: Context) -> Iterator[Finding]:
    value = extension.keywords.get("functions")
    if not isinstance(value, ast.Tuple | ast.Set):
        return
    evidence = confirming(context, ("python-argument",), ("functions",))
    written = source.text(value).strip()
    inner = written.strip("(){}").rstrip(", ")
    yield RULE.finding(
        source.place(value),
        "functions= must be a list, a dictionary or a string; load_inline raises ValueError on a "
        f"{'tuple' if isinstance(value, ast.Tuple) else 'set'}",
        evidence=evidence,
        fixes=fix("make it a list", [replace(source, value, f"[{inner}]")], certain=True),
    )


def _name(source: Source, extension: Extension) -> Iterator[Finding]:
    name, value = extension.name, extension.keywords.get("name")
    if name is None or not isinstance(value, ast.Constant) or re.fullmatch(r"\w+", name):
        return
    new = re.sub(r"\W", "_", name) or "extension"
    yield RULE.finding(
        source.place(value),
        f"the extension's name {name!r} becomes a C++ identifier and a file name; it may hold letters, digits and underscores only",
        fixes=fix(f"call it {new}", [replace(source, value, f'"{new}"')], certain=True),
    )


def _positional(source: Source, extension: Extension, context: Context) -> Iterator[Finding]:
    given = extension.node.args
    if len(given) < 4 or context.torch_version < SYCL_FROM or "functions" in extension.keywords:
        return
    start = source.span(given[3])[0]
    fixes = fix("name the argument functions=", [Edit(start=start, end=start, text="functions=")])
    yield RULE.finding(
        source.place(given[3]),
        "the fourth positional argument of load_inline is sycl_sources since torch 2.7, so these names are not taken as functions",
        fixes=fixes if len(given) == 4 else (),
    )


HEAD = "import torch\nfrom torch.utils.cpp_extension import load_inline\n"
RULE = Rule(
    code="BLD017",
    name="bad-load-inline-argument",
    severity="error",
    summary="`load_inline` is called with an argument it does not know or in the wrong form, so Python stops before building.",
    why="The call is checked by Python and by torch before any compiler starts: unknown names raise TypeError, a tuple of functions "
    "raises ValueError, and a string of flags falls into letters.",
    bad=HEAD + 'ext = load_inline(name="e", cpp_sources="", cuda_source="", functions=["f"])\n',
    good=(
        HEAD + 'flags = ["-O3"]\next = load_inline(name="e", cpp_sources=["int a;"], '
        'cuda_sources="", functions={"f": "doc"},\n    extra_cuda_cflags=flags, '
        "with_cuda=True, verbose=False, extra_ldflags=None)\n"
    ),
    detects=("text", "build"),
    languages=("cuda",),
    guards="Arguments that later releases of torch know depend on the release; arguments in **options are not looked into.",
    fix="Corrects the name, passes the prototypes as cpp_sources, drops the argument or flag, or makes a list of the string or tuple.",
    check=check,
    certain_from_text=True,
)
