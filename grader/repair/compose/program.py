"""The file around a composed kernel: the CUDA text of its stages, and the reference's own constructor."""

from __future__ import annotations

import ast
import re

from grader.repair.compose.graph import UncoveredError
from grader.repair.compose.stage import Stage
from grader.repair.families.kernels import render
from grader.source.scopes import names_used, needed_statements

IDEA = "One kernel for each stage; elementwise neighbours share one, and what only renames data stays as it is."


def sources(stages: dict[Stage, str]) -> tuple[str, list[str]]:
    """Return the CUDA text of all stages, and the declarations of their functions."""
    includes: dict[str, None] = {}
    parts, declarations = [], []
    for stage, name in stages.items():
        text = render(stage.template, name, dict(stage.values))
        declaration = _declaration(text, name)
        declarations.append(f"{declaration};")
        for line in re.findall(r"^#include.*$", text, re.MULTILINE):
            includes.setdefault(line)
        text = re.sub(r"^#include.*\n", "", text, flags=re.MULTILINE).strip()
        if len(stages) > 1:
            given = ", ".join(part.split()[-1] for part in _parameters(declaration))
            space = f"{name.removesuffix('_forward')}_stage"
            text = (
                f"namespace {space} {{\n\n{text}\n\n}}  // namespace {space}\n\n"
                f"{declaration} {{ return {space}::{name}({given}); }}"
            )
        parts.append(text)
    return "\n".join(includes) + "\n\n" + "\n\n".join(parts), declarations


def _declaration(text: str, name: str) -> str:
    at = text.rindex(f" {name}(torch::Tensor")
    return " ".join(text[text.rfind("\n", 0, at) + 1 : text.index("{", at)].split())


def _parameters(declaration: str) -> list[str]:
    return declaration[declaration.index("(") + 1 : declaration.rindex(")")].split(",")


def program(
    reference: str,
    title: str,
    extension: str,
    cuda: str,
    declarations: list[str],
    lines: list[str],
    arguments: tuple[str, ...],
) -> str:
    """Return the Python file: the reference's own constructor, and the lines of the new `forward`."""
    tree = ast.parse(reference)
    source = reference.splitlines()
    imports = [_text(n, source) for n in tree.body if isinstance(n, ast.Import | ast.ImportFrom)]
    own = [n for n in tree.body if not isinstance(n, ast.Import | ast.ImportFrom)]
    model = _class(
        tree, source, [line.replace("EXTENSION", extension) for line in lines], arguments
    )
    needed = _needed_statements(own, model)
    rest = [model if _is_model(n) else _text(n, source) for n in own if _is_model(n) or n in needed]
    functions = [declaration.split("(")[0].split()[-1] for declaration in declarations]
    joined = "\n".join(declarations)
    head = "\n".join(
        dict.fromkeys(
            (*imports, "import torch", "from torch.utils.cpp_extension import load_inline")
        )
    )
    return (
        f'"""{title}.\n\n{IDEA}\n"""\n\n{head}\n\nCUDA = r"""\n{cuda}\n"""\n\nCPP = """\n{joined}\n"""\n\n'
        f"{extension} = load_inline(\n"
        f'    name="{extension}",\n    cpp_sources=CPP,\n    cuda_sources=CUDA,\n    functions={functions!r},\n'
        f'    extra_cuda_cflags=["-O3"],\n)\n\n\n' + "\n\n\n".join(rest) + "\n"
    )


def _first(node: ast.stmt) -> int:
    decorators = getattr(node, "decorator_list", [])
    return min(node.lineno, *(int(item.lineno) for item in decorators), node.lineno)


def _text(node: ast.stmt, source: list[str]) -> str:
    return "\n".join(source[_first(node) - 1 : node.end_lineno])


def _is_model(node: ast.stmt) -> bool:
    return isinstance(node, ast.ClassDef) and node.name == "Model"


def _needed_statements(statements: list[ast.stmt], model: str) -> list[ast.stmt]:
    """Return the statements beside the model, without the functions and classes that nothing uses any more."""
    named = [n for n in statements if isinstance(n, ast.FunctionDef | ast.ClassDef)]
    plain = [n for n in statements if n not in named]
    roots = names_used(ast.parse(model)).union(*map(names_used, plain))
    kept = needed_statements([n for n in named if not _is_model(n)], roots)
    return [n for n in statements if n in plain or n in kept]


def _class(
    tree: ast.Module, source: list[str], lines: list[str], arguments: tuple[str, ...]
) -> str:
    """Return the model's class with a new forward, without unused parameters."""
    node = next(n for n in tree.body if isinstance(n, ast.ClassDef) and _is_model(n))
    forward = next(
        (f for f in node.body if isinstance(f, ast.FunctionDef) and f.name == "forward"), None
    )
    if forward is None:
        raise UncoveredError("it has no forward of its own")
    _drop_unused(forward.args, arguments)
    indent = " " * forward.col_offset
    new = [
        f"{indent}def forward({ast.unparse(forward.args)}):",
        *(f"{indent}    {line}" for line in lines),
    ]
    kept = [
        *source[node.lineno - 1 : _first(forward) - 1],
        *new,
        *source[forward.end_lineno : node.end_lineno],
    ]
    return re.sub(r"\bModel\b", "ModelNew", "\n".join(kept))


def _drop_unused(args: ast.arguments, arguments: tuple[str, ...]) -> None:
    """Remove defaults that only the reference's own forward needed, such as its own function."""
    while args.defaults and args.args[-1].arg not in arguments:
        args.args.pop()
        args.defaults.pop()
