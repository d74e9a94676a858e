"""BLD017: load_inline, or load, gets an argument that it does not take, or lacks one."""

import ast
import re
from collections.abc import Iterator
from difflib import get_close_matches

from grader.rules import Context, Edit, Finding, Fix, Source, fix, rule_of
from grader.source import Extension
from grader.source.analysis.diagnostics import confirming_errors
from grader.source.analysis.signatures import to_export
from grader.source.code_edits import delete_item, prototype, quote_text, replace
from grader.source.python_code import constant_text

BOTH = {
    "name", "extra_cflags", "extra_cuda_cflags", "extra_ldflags", "extra_include_paths", "build_directory", "verbose",
    "with_cuda", "is_python_module", "keep_intermediates",
}  # fmt: skip
OWN = {
    "load": {"sources", "is_standalone"},
    "load_inline": {"cpp_sources", "cuda_sources", "functions", "with_pytorch_error_handling", "use_pch"},
}  # fmt: skip
LATER = {"no_implicit_headers", "sycl_sources", "extra_sycl_cflags", "with_sycl", "gil_not_used"}
"""Arguments of newer versions' load_inline; an older one reports them itself."""
LISTS = ("extra_cflags", "extra_cuda_cflags", "extra_ldflags", "extra_include_paths")
OF_NVCC = re.compile(
    r"--?(?:use_fast_math|arch=|gencode|maxrregcount|lineinfo|ftz|fmad|keep)|-Xptxas|-Xcompiler|-G|-rdc"
    r"|--(?:expt-|generate-code|ptxas-options|extended-lambda|threads)"
)
"""Prefixes of flags that the C++ compilers refuse."""
Wrong = tuple[ast.AST, str, str, tuple[Fix, ...]]
"""Place of a wrong call, sentence, a word of Python's own error, and the fix."""


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Check the arguments of each call that builds an extension against its signature."""
    for extension in source.extensions:
        found = [*_unknown_arguments(source, extension)]
        if extension.call == "load_inline":
            found += (*_missing_sources(source, extension), *_forms(source, extension))
        for node, said, word, fixes in found:
            evidence = (
                confirming_errors(context, ("python-argument",), (word,), run=True) if word else ()
            )
            yield RULE.finding(source.place(node), said, evidence=evidence, fixes=fixes)
        yield from _flags_of_nvcc(source, extension, context)
        yield from _functions_by_place(source, extension, context)


def _unknown_arguments(source: Source, extension: Extension) -> Iterator[Wrong]:
    own = BOTH | OWN[extension.call]
    for word in extension.node.keywords:
        if word.arg is None or word.arg in own | LATER:
            continue
        said = f"{extension.call} has no argument {word.arg}"
        start = source.span(word)[0]
        near = get_close_matches(word.arg, sorted(own - set(extension.keywords)), 1, 0.85)
        for name in near:
            edit = Edit(start=start, end=start + len(word.arg), text=name)
            yield word, f"{said}; {name} is meant", word.arg, fix(f"call it {name}", [edit])
        if not near:
            drop = delete_item(source, word, source.span(extension.node)[1])
            yield word, said, word.arg, fix(f"drop {word.arg}", [drop])


def _missing_sources(source: Source, extension: Extension) -> Iterator[Wrong]:
    """Look for a call without `cpp_sources`; the prototypes of what is exported go there."""
    call = extension.node
    spread = any(isinstance(one, ast.Starred) for one in call.args)
    if "cpp_sources" in extension.keywords or spread or any(w.arg is None for w in call.keywords):
        return
    declared = "\n".join(map(prototype, to_export(source, extension, extension.cuda)))
    starts = [source.span(word)[0] for word in call.keywords[:1]]
    edits = [Edit(start=at, end=at, text=f"cpp_sources={quote_text(declared)}, ") for at in starts]
    said = "load_inline is called without cpp_sources, which it can't do without: TypeError; the prototypes of what is exported belong there"
    yield call, said, "cpp_sources", fix("pass cpp_sources", edits)


def _forms(source: Source, extension: Extension) -> Iterator[Wrong]:
    """Look for flags in one string, functions in a tuple, and names that are no identifiers."""

    def put_instead(node: ast.AST, label: str, new: str) -> tuple[Fix, ...]:
        return fix(label, [replace(source, node, new)], certain=True)

    for name in LISTS:
        value = extension.keywords.get(name)
        if isinstance(value, ast.JoinedStr | ast.Constant) and (constant_text(value) or "").strip():
            parts = str(value.value).split() if isinstance(value, ast.Constant) else []
            new = repr(parts) if len(parts) > 1 else f"[{source.text(value)}]"
            said = f"{name} is one string; torch walks over it as over a list, one letter at a time, and the compiler gets letters for flags"
            yield value, said, "", put_instead(value, "make it a list", new)
    value = extension.keywords.get("functions")
    if isinstance(value, ast.Tuple | ast.Set):
        kind, inner = type(value).__name__.lower(), ", ".join(map(source.text, value.elts))
        said = f"functions= must be a list, a dictionary or a string; load_inline raises ValueError on a {kind}"
        yield value, said, "functions", put_instead(value, "make it a list", f"[{inner}]")
    name, value = extension.name or "e", extension.keywords.get("name")
    if isinstance(value, ast.Constant) and not re.fullmatch(r"\w+", name):
        new = re.sub(r"\W", "_", name)
        said = f"the extension's name {name!r} becomes a C++ identifier and a file name; it may hold letters, digits and underscores only"
        yield value, said, "", put_instead(value, f"call it {new}", f'"{new}"')


def _functions_by_place(
    source: Source, extension: Extension, context: Context
) -> Iterator[Finding]:
    """Look for functions at the position that newer versions of torch use for `sycl_sources`."""
    told = [item for item in context.evidence_of("python") if "SYCL and CUDA" in item.said]
    for node in extension.node.args[3:] if told and len(extension.node.args) == 4 else ():
        start = source.span(node)[0]
        said = "the fourth argument of load_inline is sycl_sources in newer versions of torch; functions must be passed by name"
        name = Edit(start=start, end=start, text="functions=")
        yield RULE.finding(source.place(node), said, evidence=told, fixes=fix("pass functions by name", [name]))  # fmt: skip


def _flags_of_nvcc(source: Source, extension: Extension, context: Context) -> Iterator[Finding]:
    value = extension.keywords.get("extra_cflags")
    failed = [e for e in context.evidence_of("python") if "Error building extension" in e.said]
    refused = [] if context.evidence_of("compiler") else failed
    for item in value.elts if isinstance(value, ast.List) else ():
        flag = constant_text(item) or ""
        if OF_NVCC.match(flag):
            drop = delete_item(source, item, source.span(value or item)[1])
            yield RULE.finding(
                source.place(item),
                f"{flag} is nvcc's; extra_cflags goes to the C++ compiler, which does not know it",
                evidence=refused,
                fixes=fix(f"drop {flag}", [drop], certain=True),
            )


RULE = rule_of(__file__, check, certain_from_text=True)
