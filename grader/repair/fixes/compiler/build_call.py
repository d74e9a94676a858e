"""What the call that builds asks for in vain: a header that is not there, an old language standard, no name."""

from __future__ import annotations

import ast

from grader.records import Edit, Fix
from grader.repair.fixes.compiler.diagnostic import Diagnostic
from grader.source.code_edits import delete_item, delete_lines_of, fix
from grader.source.cuda_code import cuda_code, text, units

FLAGS = ("extra_cflags", "extra_cuda_cflags")


def without_header(found: Diagnostic) -> tuple[Fix, ...]:
    """Drop the include: helpers of samples and of other projects are rarely used."""
    if found.kind != "missing-header":
        return ()
    edits = [
        delete_lines_of(unit, node)
        for unit in units(found.source)
        for node in cuda_code(unit).of("preproc_include")
        if text(node.child_by_field_name("path")).strip('<>"') == found.names[0]
    ]
    return fix(f"drop {found.names[0]}", edits)


def without_standard(found: Diagnostic) -> tuple[Fix, ...]:
    """Leave the language standard to torch, which asks for the one that its headers need."""
    edits = []
    for extension in found.source.extensions if found.kind == "standard" else ():
        for value in (extension.keywords.get(name) for name in FLAGS):
            for flag in value.elts if isinstance(value, ast.List) else ():
                said = flag.value if isinstance(flag, ast.Constant) else None
                if isinstance(said, str) and said.startswith(("-std=", "--std=")):
                    end = found.source.span(value)[1] if value is not None else 0
                    edits.append(delete_item(found.source, flag, end))
    return fix("leave the language standard to torch", edits)


def with_name(found: Diagnostic) -> tuple[Fix, ...]:
    """Pass the name that `load_inline` is called without."""
    missing = found.kind == "python-argument" and found.says(r"load_inline\(\) missing .*'name'")
    extensions = found.source.extensions
    if not missing or len(extensions) != 1 or not extensions[0].node.keywords:
        return ()
    at = found.source.span(extensions[0].node.keywords[0])[0]
    name = f'name="{(extensions[0].functions or ("custom",))[0]}_extension"'
    return fix("pass name", [Edit(start=at, end=at, text=f"{name}, ")])
