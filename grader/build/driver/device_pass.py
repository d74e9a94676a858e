"""Device code: nvcc to PTX, over the stub torch or the real one; ptxas for its verdict on it."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Literal

from grader.build.driver import stub
from grader.build.driver.command import Command
from grader.build.driver.config import Config
from grader.build.driver.tools import Outcome, run, say

_HOST_ONLY = {
    "-Xcompiler", "-ccbin", "-Xlinker", "-MD", "-MMD", "-shared", "-L", "-l", "-fPIC",
    "-Xptxas", "-gencode", "-arch", "-code", "-G", "-lineinfo", "--generate-line-info", "-keep",
    "--keep", "-dlink", "-dc", "-x", "-v", "--verbose", "--resource-usage", "-res-usage",
}  # fmt: skip
_ARCH = re.compile(r"(?:sm|compute)_(\d+[a-z]?)")


Headers = Literal["lean", "stub", "light", "full"]


def architectures(command: Command) -> list[str]:
    """Return the architectures requested for machine code, e.g. `90`, in the call's order."""
    wanted: list[str] = []
    for value in [*command.values("-gencode"), *command.values("-arch"), *command.values("-code")]:
        codes = value.split("code=", 1)[1] if "code=" in value else value
        wanted += _ARCH.findall(codes)
    return list(dict.fromkeys(wanted)) or [_target()]


def _target() -> str:
    """Return the architecture of the target GPU, real or simulated."""
    first = re.split(r"[;, ]", os.environ.get("TORCH_CUDA_ARCH_LIST", ""))[0]
    return first.removesuffix("+PTX").replace(".", "") or "90"


def architecture(command: Command) -> str:
    """Return the architecture to compile for: the target if requested, else the nearest below."""
    wanted, target = architectures(command), _target()
    below = [arch for arch in wanted if _number(arch) <= _number(target)]
    if target in wanted:
        return target
    return max(below, key=_number) if below else wanted[0]


def _number(arch: str) -> int:
    return int(arch.rstrip("abcdefghijklmnopqrstuvwxyz") or 0)


def keeps_ptx(command: Command) -> bool:
    """Whether the call embeds PTX for newer GPUs beside the machine code."""
    if any("compute_" in value.split("code=", 1)[-1] for value in command.values("-gencode")):
        return True
    return bool(command.values("-arch")) and not command.values("-code")


def flags(command: Command) -> list[str]:
    """Return the flags of the call that affect device code."""
    kept = list(command.defines)
    for name, value in command.options:
        if name in _HOST_ONLY:
            continue
        if name.startswith("-") and value is not None:
            kept += [f"{name}={value}"] if name in {"-std", "-rdc"} else [name, value]
        else:
            kept.append(name)
    return kept


def over_stub(config: Config, command: Command, text: str, folder: Path) -> tuple[Outcome, Path]:
    """Run nvcc to PTX over our stub, first over its lean form where that may suffice."""
    if stub.is_lean(text):
        made = front_end(config, command, text, folder, "lean")
        if made[0].ok:
            return made
    return front_end(config, command, text, folder, "stub")


def front_end(
    config: Config, command: Command, text: str, folder: Path, headers: Headers
) -> tuple[Outcome, Path]:
    """Run nvcc to PTX over our stub, torch's types.h, or all that the source includes of torch."""
    ptx = folder / f"{headers}.ptx"
    arch = architecture(command)
    includes: list[str] = []
    if headers in {"lean", "stub"}:
        includes = stub.write(config, text, folder, lean=headers == "lean")
    elif headers == "light":
        includes = [f"-I{config.stubs}/light"]
    includes += [f"-I{path}" for path in command.includes]
    for path in [*command.system_includes, *config.library_includes]:
        includes += ["-isystem", path]
    if config.mode == "exact":
        includes += ["-include", f"{config.stubs}/exact/functions.h"]
    if config.mode == "literal":
        includes += ["-Xcicc", "-O0"]
    outcome = run(
        [
            config.nvcc,
            "-ptx",
            # For the simulator and compute-sanitizer; changes no instruction.
            "-lineinfo",
            f"-arch=compute_{arch}",
            *flags(command),
            *includes,
            command.sources[0],
            "-o",
            str(ptx),
        ]
    )
    return outcome, ptx


def assemble(config: Config, command: Command, ptx: Path, folder: Path) -> tuple[Outcome, Path]:
    """Run ptxas, whose result on registers and shared memory is final."""
    cubin = folder / "device.cubin"
    options = [
        part for value in command.values("-Xptxas") for part in re.split(r"[,\s]+", value) if part
    ]
    maximum = command.value("-maxrregcount") or command.value("--maxrregcount")
    if maximum:
        options.append(f"-maxrregcount={maximum}")
    arch = architecture(command)
    if config.device == "cuda":
        options.append("-lineinfo")
    if command.relocatable:
        options.append("--compile-only")
    outcome = run([config.ptxas, "-v", f"-arch=sm_{arch}", *options, str(ptx), "-o", str(cubin)])
    return outcome, cubin


def gpu_binary(config: Config, command: Command, ptx: Path, cubin: Path, folder: Path) -> Path:
    """Make the GPU binary that the host object embeds: a program for the simulator, a fat binary for a GPU."""
    blob = folder / "device.blob"
    if config.device == "sim":
        from grader.simulator.ptx import decode, encode

        text = ptx.read_text("utf-8", "replace")
        blob.write_bytes(encode(decode(with_functions(text) if config.mode == "exact" else text)))
        return blob
    arch = architecture(command)
    images = [f"--image3=kind=elf,sm={arch},file={cubin}"]
    if keeps_ptx(command):
        images.append(f"--image3=kind=ptx,sm={arch},file={ptx}")
    outcome = run([config.fatbinary, "-64", "--create", str(blob), *images])
    if not outcome.ok:
        raise RuntimeError(f"fatbinary failed: {outcome.text}")
    return blob


_MARKED = re.compile(r"\b(?:mov|add)\.(f32|f64)\s+([^;]*); // (math\.\w+)")


def with_functions(ptx: str) -> str:
    """Return PTX with the simulator's own instructions where stubs/exact/functions.h left their marks."""
    return _MARKED.sub(r"\3.\1 \2;", ptx)


def plain_names(ptx: Path) -> str:
    """Return a log line for each kernel with its demangled name."""
    names = re.findall(r"\.entry\s+([\w$]+)", ptx.read_text("utf-8", "replace"))
    if not names:
        return ""
    try:
        outcome = run(["c++filt", *names])
    except OSError:
        return ""
    plain = outcome.text.splitlines() if outcome.ok else []
    return "".join(
        f"kernel-grader: kernel {m} is {p}\n" for m, p in zip(names, plain, strict=False)
    )


def embed(blob: Path | str, target: Path) -> int:
    """Put the GPU binary into a host object; the object of a file without kernels has no place for it."""
    if b".nv_fatbin" not in target.read_bytes():
        return 0
    done = run(["objcopy", "--update-section", f".nv_fatbin={blob}", str(target)])
    say(done.text)
    return done.code
