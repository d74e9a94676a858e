"""The file around a composed kernel: the CUDA text of its stages, and the reference's own constructor."""

from __future__ import annotations

import ast
import re

from grader.repair.compose.graph import UncoveredError
from grader.repair.compose.stage import Stage
from grader.repair.families.family import render

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
    reference: str, title: str, extension: str, cuda: str, declarations: list[str], lines: list[str]
) -> str:
    """Return the Python file: the reference's own constructor, and the lines of the new `forward`."""
    tree = ast.parse(reference)
    source = reference.splitlines()
    imports, rest = [], []
    for node in tree.body:
        text = "\n".join(source[_first(node) - 1 : node.end_lineno])
        if isinstance(node, ast.Import | ast.ImportFrom):
            imports.append(text)
        elif isinstance(node, ast.ClassDef) and node.name == "Model":
            rest.append(
                _class(node, source, [line.replace("EXTENSION", extension) for line in lines])
            )
        elif not (
            isinstance(node, ast.FunctionDef) and node.name in {"get_inputs", "get_init_inputs"}
        ):
            rest.append(text)
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


def _class(node: ast.ClassDef, source: list[str], lines: list[str]) -> str:
    forward = next(
        (f for f in node.body if isinstance(f, ast.FunctionDef) and f.name == "forward"), None
    )
    if forward is None:
        raise UncoveredError("it has no forward of its own")
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
