"""Extracts from torch's and CUDA's headers for the drivers, written into the prepared folder."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from grader.build import header_extraction, lean
from grader.build.configuration import STUBS
from grader.build.driver import halves
from grader.build.driver.blank import without_assembly
from grader.build.tool_queries import output
from grader.build.toolchain import Toolchain

_LINKED = ("c10", "c10_cuda", "torch", "torch_cpu", "torch_cuda", "torch_python")
_COPIED = ("cuda_fp16", "cuda_bf16", "cuda_fp8", "cuda_fp6", "cuda_fp4")


def precompiled_stubs() -> list[Path]:
    """Return the stubs that the precompiled headers read; the others are read by each build."""
    host = [path for path in sorted((STUBS / "host").rglob("*")) if path.is_file()]
    return [*host, *sorted(STUBS.glob("*.h"))]


def copies(toolchain: Toolchain, folder: Path) -> None:
    """Copy our own stubs, and CUDA's small-float headers without their PTX.

    A host compiler can't compile that PTX, and a precompiled header records the paths of its sources.
    """
    for path in precompiled_stubs():
        copy = folder / "stubs" / path.relative_to(STUBS)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copy)
    (folder / "host").mkdir(exist_ok=True)
    for name in _COPIED:
        for suffix in (".h", ".hpp"):
            for include in toolchain.cuda_includes:
                path = include / (name + suffix)
                if path.is_file():
                    text = without_assembly(path.read_text("utf-8", "replace"))
                    (folder / "host" / path.name).write_text(text, "utf-8")
                    break


def declarations(toolchain: Toolchain, folder: Path) -> None:
    """Write the declarations that the stub takes verbatim from torch's own headers."""
    include, api = toolchain.torch_includes[:2]
    data = {
        "methods": header_extraction.methods(include),
        "functions": header_extraction.functions(include),
        "factories": header_extraction.factories(include) or header_extraction.factories(api),
    }
    (folder / "headers.json").write_text(json.dumps(data), "utf-8")
    (folder / "stub").mkdir(exist_ok=True)
    (folder / "stub" / "kg_dispatch_all.inc").write_text(
        header_extraction.dispatch_macros(include), "utf-8"
    )
    (folder / "stub" / "kg_scalar_types.inc").write_text(
        header_extraction.scalar_types(include), "utf-8"
    )


def vocabulary(toolchain: Toolchain, folder: Path, closure: lean.Closure) -> None:
    """Write the names that the real headers declare, define and test in conditions."""
    headers = header_extraction.texts(closure.headers)
    visible = header_extraction.global_words(closure.text) | header_extraction.macros(
        headers.values()
    )
    _list(folder / "globals.txt", sorted(visible))
    folders = (*toolchain.torch_includes, toolchain.python_include)
    stubbed = [
        text for path, text in headers.items() if any(path.is_relative_to(f) for f in folders)
    ]
    _list(folder / "macros.txt", sorted(header_extraction.macros(stubbed)))
    _list(folder / "words.txt", header_extraction.words(headers.values()))
    names = header_extraction.condition_names(headers.values())
    (folder / "conditions.json").write_text(json.dumps(names), "utf-8")


def write_exported_symbols(toolchain: Toolchain, folder: Path) -> None:
    """Write the names that torch's libraries define, for the linker's driver (`driver.halves`)."""
    folders = toolchain.torch / "lib" if toolchain.torch else folder
    libraries = [str(p) for n in _LINKED if (p := folders / f"lib{n}.so").is_file()]
    said = output(Path("nm"), "-D", "--defined-only", *libraries)
    names = {line.rsplit(" ", 1)[-1] for line in said.splitlines()}
    _list(folder / halves.EXPORTED, sorted(names))


def _list(path: Path, names: list[str]) -> None:
    path.write_text("\n".join(names), "utf-8")
