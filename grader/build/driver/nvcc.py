"""nvcc's place in torch's ninja file: the quick way, and the stock way where there is any doubt."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

from grader.build.driver import device_pass, host_pass, stock
from grader.build.driver.blank import has_device_lambda
from grader.build.driver.command import Command
from grader.build.driver.config import Config
from grader.build.driver.tools import say, trace

_UNSUITED = {"-rdc", "-dc", "-dlink", "--relocatable-device-code", "-G", "-x", "-include", "--device-debug"}


def compile_cuda(config: Config, command: Command) -> int:
    """Compile one CUDA file to an object; returns the exit status."""
    source = Path(command.sources[0])
    text = source.read_text("utf-8", "replace")
    _depend(command)
    with tempfile.TemporaryDirectory(prefix="kg") as name:
        folder = Path(name)
        reason = _unsuited(config, command, text)
        if reason:
            trace(f"stock way: {reason}")
            return stock.compile_cuda(config, command, text, folder)
        return _quick(config, command, text, folder)


def _unsuited(config: Config, command: Command, text: str) -> str:
    if config.mode == "stock" or config.zig is None:
        return "asked for" if config.mode == "stock" else "no clang"
    header = host_pass.precompiled_for(text)
    if header is None or header not in config.precompiled:
        return "the file does not start with load_inline's includes"
    for option, value in command.options:
        if option in _UNSUITED and value != "false":
            return f"{option} needs nvcc's own host code"
    if has_device_lambda(text):
        return "extended lambdas have names that only nvcc can make"
    return host_pass.unsuited(config, command, host_pass.host_flags(command))


def _quick(config: Config, command: Command, text: str, folder: Path) -> int:
    """Device pass, ptxas, host pass; each failure is decided by the stock compilers."""
    source = command.sources[0]
    outcome, ptx = device_pass.front_end(config, command, source, text, folder, "stub")
    if not outcome.ok:
        outcome, ptx = stock.decide_device(config, command, text, folder, outcome)
        if not outcome.ok:
            say(outcome.text)
            return outcome.code
    _rename_internal(ptx)
    assembled, cubin = device_pass.assemble(config, command, ptx, folder)
    say(outcome.text)
    say(assembled.text + device_pass.plain_names(ptx))
    if not assembled.ok:
        return assembled.code
    blob = device_pass.gpu_binary(config, command, ptx, cubin, folder)
    header = host_pass.precompiled_for(text)
    for face in [True, False] if config.device == "sim" else [False]:
        host = host_pass.cuda_object(config, command, text, str(header), blob, folder, face=face)
        if host.ok and not _missing_kernels(command, ptx):
            return 0
        trace(f"host pass by clang: {host.text[:2000]}")
    return stock.compile_cuda(config, command, text, folder)


def _rename_internal(ptx: Path) -> None:
    """Give names in anonymous namespaces the host compiler's form; nvcc numbers them by file."""
    text = ptx.read_text("utf-8", "replace")
    if "_GLOBAL__N_" not in text:
        return

    def rename(match: re.Match[str]) -> str:
        length = int(match.group(1))
        rest = match.group(2)
        return "12_GLOBAL__N_1" + rest[length:]

    renamed = re.sub(r"(?<=N)(\d+)(_GLOBAL__N_[\w$]*)", rename, text)
    ptx.write_text(renamed, "utf-8")


def _missing_kernels(command: Command, ptx: Path) -> bool:
    """Whether the host object registers a kernel that the device pass did not make."""
    entries = set(re.findall(r"\.entry\s+([\w$]+)", ptx.read_text("utf-8", "replace")))
    data = Path(str(command.output)).read_bytes()
    missing = kernel_names(data) - entries
    if missing:
        trace(f"kernels without device code: {sorted(missing)[:5]}")
    return bool(missing)


def kernel_names(data: bytes) -> set[str]:
    """Return the mangled names of the kernels whose launch stubs an object defines."""
    names = set()
    for symbol in set(re.findall(rb"_Z[\w$]*__device_stub__[\w$]+", data)):
        match = re.search(rb"(\d+)__device_stub__", symbol)
        if match:
            length = int(match.group(1)) - len(b"__device_stub__")
            plain = symbol[: match.start()] + str(length).encode() + symbol[match.end() :]
            names.add(plain.decode("ascii"))
    names |= {s.decode() for s in re.findall(rb"\0__device_stub__([\w$]+)\0", data)}
    return names


def _depend(command: Command) -> None:
    if command.depfile:
        Path(command.depfile).write_text(f"{command.output}: {command.sources[0]}\n", "utf-8")
