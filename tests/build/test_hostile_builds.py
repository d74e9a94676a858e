"""Submissions whose build attacks the compiler or the machine: contained, limited, or refused."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from grader import build as building
from grader.build.imports import OURS, imports
from grader.build.prepare import Prepared, prepare
from grader.records import Build, JsonValue, Submission
from grader.sandbox import Limits, strongest
from grader.simulator.gpus import gpu

BODY = "torch::Tensor f(torch::Tensor x) { return x; }"
CODE = """
from pathlib import Path
from torch.utils.cpp_extension import load_inline
{before}
ext = load_inline(
    name="own", cpp_sources="torch::Tensor f(torch::Tensor x);", functions=["f"],
    cuda_sources={source!r}, {options}
)
"""
HOSTILE: dict[str, tuple[dict[str, str], str, str]] = {
    "include of a secret": ({"source": '#include "/etc/shadow"\n' + BODY}, "failed", "shadow"),
    "include path": (
        {"options": 'extra_include_paths=["/root"],'},
        "failed",
        "outside of the build",
    ),
    "library of somebody's": (
        {"options": 'extra_ldflags=["/root/secret.a"],'},
        "failed",
        "outside of the build",
    ),
    "response file for the linker": (
        {"options": 'extra_ldflags=["@/etc/passwd"],'},
        "failed",
        "flags from a file",
    ),
    "linker script that it writes": (
        {
            "before": 'Path("s.ld").write_text("INPUT(/etc/shadow)")',
            "options": 'extra_ldflags=[str(Path("s.ld").resolve())],',
        },
        "failed",
        "",
    ),
    "incbin": ({"source": BODY + '\nasm(".incbin \\"/etc/shadow\\"");'}, "", ""),
    "pragma that reads": (
        {"source": '#pragma GCC dependency "/etc/shadow"\n' + BODY},
        "failed",
        "",
    ),
    "macro bomb": (
        {
            "source": "#define A0 x,x,x,x,x,x,x,x\n"
            + "".join(f"#define A{i + 1} {','.join([f'A{i}'] * 8)}\n" for i in range(12))
            + "int bomb[] = { A12 };\n"
            + BODY
        },
        "",
        "",
    ),
    "constructor": (
        {
            "source": "#include <cstdlib>\n#include <cstdio>\n"
            '__attribute__((constructor)) void early() { fopen("/root/kg-x", "w"); _Exit(0); }\n'
            + BODY
        },
        "crashed",
        "ended early",
    ),
}

COSTLY = {"incbin", "macro bomb", "pragma that reads"}
"""They take the compilers a minute: run where KERNEL_GRADER_ALL_ATTACKS is set."""


@pytest.fixture(scope="module")
def prepared() -> Prepared:
    toolchain = building.discover()
    if not toolchain.builds:
        pytest.skip(f"can't build here: {toolchain.missing}")
    return prepare(toolchain)


def _build(prepared: Prepared, folder: Path, source: str, before: str, options: str) -> Build:
    settings: dict[str, JsonValue] = {
        "library": str(prepared.library),
        "torch_library": str(prepared.torch_library),
        "gpu": gpu("h100").fields(),
        "cuda_version": "13.0",
        "simulator": {},
    }
    code = CODE.format(source=source, before=before, options=options)
    return building.build(
        Submission(sample="t", code=code, line_map=(), how="t"),
        device="sim",
        form=strongest(),
        limits=Limits(wall=60, memory=2 << 30),
        prepared=prepared,
        artifact_dir=folder,
        options=settings,
    )


@pytest.mark.slow
@pytest.mark.timeout(900)  # the first one prepares the machine
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_build_is_contained(name: str, prepared: Prepared, tmp_path: Path) -> None:
    if name in COSTLY and not os.environ.get("KERNEL_GRADER_ALL_ATTACKS"):
        pytest.skip("KERNEL_GRADER_ALL_ATTACKS is not set")
    given, status, words = HOSTILE[name]
    made = _build(
        prepared,
        tmp_path,
        given.get("source", BODY),
        given.get("before", ""),
        given.get("options", ""),
    )
    assert made.status not in {"built", "grader_error"}, made.log[-2000:]
    assert made.status == status or not status, (made.status, made.reason)
    assert words in f"{made.log}\n{made.reason}", made.log[-2000:]
    assert "root:" not in made.log
    assert not Path("/root/kg-x").exists()


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_header_of_the_machine_can_t_be_probed_for(prepared: Prepared, tmp_path: Path) -> None:
    secret = Path.home() / ".kernel-grader-test-header"
    secret.write_text("// secret")
    try:
        source = f'#if __has_include("{secret}")\n#error it is there\n#endif\n{BODY}'
        made = _build(prepared, tmp_path, source, "", "")
    finally:
        secret.unlink()
    assert made.status == "built", made.log[-2000:]


@pytest.mark.skipif(shutil.which("g++") is None, reason="no C++ compiler")
def test_a_pasted_name_shows_in_the_library(tmp_path: Path) -> None:
    text = """
#define NAME(a, b) a##b
extern "C" void NAME(kgsim, _open)();
extern "C" int NAME(mpro, tect)(void*, unsigned long, int);
extern "C" void* kgsim_blas_handle();
extern "C" void f() { NAME(kgsim, _open)(); NAME(mpro, tect)(kgsim_blas_handle(), 1, 0); }
extern "C" int NAME(__sys, call)(long, ...);
extern "C" void g() { NAME(__sys, call)(101); }
"""
    source, library = tmp_path / "a.cpp", tmp_path / "a.so"
    source.write_text(text)
    subprocess.run(["g++", "-shared", "-fPIC", str(source), "-o", str(library)], check=True)
    assert [item.details and item.details.model_dump()["name"] for item in imports(tmp_path)] == [
        "kgsim_open",
        "mprotect",
        "syscall",
    ]
    library.rename(tmp_path / "a.dat")
    assert len(list(imports(tmp_path))) == 3
    plain = tmp_path / "plain"
    plain.mkdir()
    # CUB's tracing looks a name up when it is first used.
    source.write_text(
        "#include <dlfcn.h>\n"
        'extern "C" void* f(const char* tool) { return dlsym(dlopen(tool, RTLD_LAZY), "start"); }'
    )
    command = ["g++", "-shared", "-fPIC", str(source), "-o", str(plain / "b.so")]
    subprocess.run(command, check=True)
    assert list(imports(plain)) == []


def test_what_our_headers_call_of_the_simulator_is_an_extension_s_to_import() -> None:
    face = Path(building.__file__).parent / "stubs" / "face"
    called = {
        name
        for path in face.rglob("*.h")
        for name in re.findall(r"\bkgsim_\w+", path.read_text("utf-8"))
    }
    assert called == OURS
