"""EXT002: no ModelNew, or no CUDA kernel behind it."""

import ast
from collections.abc import Iterator

from grader.languages import readings
from grader.rules import Context, Finding, Source, rule_of
from grader.source.library_calls import LIBRARY
from grader.source.python_code import PythonCode

OTHER_BACKENDS = ("triton", "cutlass", "tilelang", "cupy", "numba", "pycuda", "cuda.core", "taichi",
                  "thunderkittens", "helion", "warp")  # fmt: skip
PARTS = ("thrust::", "cub::")
BUILDERS = ("CUDAExtension", "load", "load_inline", "compile_ptx", "RawKernel", "RawModule")


def check(source: Source, _context: Context) -> Iterator[Finding]:
    """Look for ModelNew, for a call that builds an extension, and for a kernel in it."""
    code = source.module
    if source.syntax_error is not None:
        return
    if code.model is None:
        if not _binds_model(code):
            yield _no_model(source, code)
        return
    if _other_backend(code) or _other_language(source):
        return
    building = any(name.rsplit(".", 1)[-1] in BUILDERS for name, _ in code.calls)
    if not source.extensions and not building:
        yield RULE.finding(
            source.place(code.model),
            "no call of load_inline: the file builds no CUDA code"
            + (
                ", though it holds a kernel's text" if source.cuda else ", so ModelNew is PyTorch's"
            ),
        )
    elif source.extensions and _no_kernel(source):
        yield RULE.finding(
            source.place(source.extensions[0].node),
            f"the extension has no __global__ function: it is C++ that calls {_called_library(source)}, without a CUDA kernel of its own",
        )


def _other_language(source: Source) -> bool:
    """Whether it has kernels that no extension is built from."""
    return any(found.kernels for name, found in readings(source).items() if name != "cuda")


def _called_library(source: Source) -> str:
    """Return the library that does the work, if the text calls one."""
    calls = (call for unit in source.units for call in unit.calls)
    names = (
        one.qualified for one in calls if LIBRARY.match(one.name) or one.qualified.startswith(PARTS)
    )
    return next(names, "PyTorch")


def _no_model(source: Source, code: PythonCode) -> Finding:
    modules = [name for name, node in code.classes.items() if _is_module(code, node)]
    there = f"; the file defines {', '.join(modules[:3])}" if modules else ""
    line = code.classes[modules[-1]].lineno if modules else max(len(source.lines), 1)
    return RULE.finding(
        source.line_place(line),
        f"there is no class ModelNew, which is what a grader looks for{there}",
    )


def _is_module(code: PythonCode, node: ast.ClassDef) -> bool:
    return any(code.canonical(base).endswith("Module") for base in node.bases)


def _binds_model(code: PythonCode) -> bool:
    """Whether ModelNew is bound in another way: an assignment, an import."""
    names = {node.id for node in code.of(ast.Name) if isinstance(node.ctx, ast.Store)}
    return "ModelNew" in names or "ModelNew" in code.aliases


def _other_backend(code: PythonCode) -> bool:
    """Whether kernels are written for another compiler, which this rule can't judge."""
    imported = {name.split(".")[0] for name in code.aliases.values()}
    return any(name.split(".")[0] in imported for name in OTHER_BACKENDS)


def _no_kernel(source: Source) -> bool:
    whole = all(
        one.complete and all(unit.resolved for unit in one.units) for one in source.extensions
    )
    return (
        whole
        and not any("__global__" in unit.text for one in source.extensions for unit in one.units)
        and not any(unit.kernels for unit in source.cuda)
    )


RULE = rule_of(__file__, check, predicts="nothing")
