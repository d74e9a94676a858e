"""The driver in nvcc's place: the quick compilers, and the stock ones where there is any doubt.

A draft that the quick compilers refuse has failed; the stock ones are not run.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from grader.build.driver import cccl, conditions, device_pass, host_pass, shared_pass
from grader.build.driver.blank import has_device_lambda
from grader.build.driver.command import Command
from grader.build.driver.config import Config
from grader.build.driver.tools import STOCK_WAY, say, scratch, trace

_UNSUITED = {
    "-dc",
    "-dlink",
    "-G",
    "-x",
    "-include",
    "--device-debug",
}


def compile_cuda(config: Config, command: Command) -> int:
    """Compile one CUDA file to an object; returns the exit status."""
    source = Path(command.sources[0])
    text = source.read_text("utf-8", "replace")
    _depend(command)
    with scratch() as folder:
        reason = _why_unsuited(config, command, text)
        if reason:
            return _stock_way(config, command, text, folder, reason)
        return _quick(config, command, text, folder)


def _why_unsuited(config: Config, command: Command, text: str) -> str:
    if config.mode == "stock" or config.zig is None:
        return "asked for" if config.mode == "stock" else "no clang"
    header = host_pass.precompiled_for(text)
    if header is None or header not in config.precompiled:
        return "the file does not start with load_inline's includes"
    for option, value in command.options:
        if option in _UNSUITED and value != "false":
            return f"{option} needs nvcc's own host code"
    if command.relocatable and "__global__" not in text:
        return "without a kernel only nvcc asks for a device link"
    if name := conditions.conditions_asked(command, text):
        return f"the text asks for {name}"
    if has_device_lambda(text):
        return "extended lambdas have names that only nvcc can make"
    return host_pass.why_unsuited(config, command, host_pass.host_flags(command))


def _quick(config: Config, command: Command, text: str, folder: Path) -> int:
    """Run device and host pass in parallel, then ptxas; the stock compilers decide each failure."""
    with _HostPass(config, command, text, folder) as host:
        outcome, ptx = device_pass.over_stub(config, command, text, folder)
        if not outcome.ok and config.mode not in {"draft", "exact", "literal"}:
            from grader.build.driver import stock

            outcome, ptx = stock.decide_device(
                config, command, text, folder, outcome, lambda: host.result()[1]
            )
        if not outcome.ok:
            say(outcome.text)
            return outcome.code
        registered, refusal = host.result()
        names = names_for(registered, ptx.read_text("utf-8", "replace"))
    if names is None and config.mode in {"draft", "exact", "literal"}:
        say(refusal)
        return 1
    if names is None:
        from grader.build.driver import stock

        say(STOCK_WAY)
        trace("stock way: clang refuses the host code")
        refused = stock.decide_host(config, command, text, folder)
        if refused is None:
            return stock.compile_cuda(config, command, text, folder)
        say(refused.text)
        return refused.code
    _rename(ptx, names)
    assembled, cubin = device_pass.assemble(config, command, ptx, folder)
    say(outcome.text)
    say(assembled.text + device_pass.plain_names(ptx))
    if not assembled.ok:
        return assembled.code
    blob = device_pass.gpu_binary(config, command, ptx, cubin, folder)
    return device_pass.embed(blob, Path(str(command.output)))


def _stock_way(config: Config, command: Command, text: str, folder: Path, reason: str) -> int:
    from grader.build.driver import stock

    say(STOCK_WAY)
    trace(f"stock way: {reason}")
    return stock.compile_cuda(config, command, text, folder)


class _HostPass(threading.Thread):
    """The host pass, in a thread beside the device pass."""

    def __init__(self, *asked: Any) -> None:
        super().__init__()
        self._asked = asked
        self._failure: BaseException | None = None

    def __enter__(self) -> _HostPass:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.join()

    def run(self) -> None:
        try:
            self._made = _host(*self._asked)
        except BaseException as error:  # noqa: BLE001 - raised again where the result is asked for
            self._failure = error

    def result(self) -> tuple[set[str] | None, str]:
        """Wait for it; return the kernels that its object registers, None if clang refuses, and why."""
        self.join()
        if self._failure:
            raise self._failure
        return self._made


def _host(config: Config, command: Command, text: str, folder: Path) -> tuple[set[str] | None, str]:
    """Run the host pass; return the kernels that its object registers; None if clang refuses, and why."""
    refusal = ""
    blob = folder / "placeholder"
    blob.write_bytes(bytes(64))
    header = str(host_pass.precompiled_for(text))
    arch = device_pass.architecture(command)
    for face, behind, real in _host_ways(config, command, text, header):
        host = host_pass.cuda_object(
            config,
            command,
            text,
            header,
            blob=blob,
            folder=folder,
            face=face,
            behind=behind,
            cccl_for=arch if real else "",
        )
        made = Path(str(command.output)).read_bytes() if host.ok else b""
        if made and (not behind or shared_pass.defines_bound(made, behind)):
            return kernel_names(made), ""
        refusal = host.text
        trace(f"host pass by clang: {host.text[:2000]}")
    return None, refusal


def _host_ways(
    config: Config, command: Command, text: str, header: str
) -> Iterator[tuple[bool, str, bool]]:
    """Yield the settings to try for the host pass: the simulator's face, the appended text, CCCL."""
    binding = shared_pass.binding_of(command, text) if header == "extension" else ""
    faces = (True, False) if config.device == "sim" else (False,)
    for real in cccl.ways(text):
        if binding:
            yield faces[0], binding, real
        for face in faces:
            yield face, "", real


_ENTRY = re.compile(r"\.entry\s+([\w$]+)")
_ANONYMOUS = re.compile(r"(\d+)(_GLOBAL__N_[\w$]*)")


def names_for(registered: set[str] | None, ptx: str) -> dict[str, str] | None:
    """Return the host's registered name for each kernel of the PTX.

    The two compilers name kernels with internal linkage differently. None where the host pass
    failed or a registered kernel has no device code.
    """
    if registered is None:
        return None
    entries = {canonical(name): name for name in _ENTRY.findall(ptx)}
    missing = [name for name in registered if canonical(name) not in entries]
    if missing:
        trace(f"kernels without device code: {sorted(missing)[:5]}")
        return None
    return {entries[canonical(name)]: name for name in registered}


def canonical(name: str) -> str:
    """Return a mangled name without the parts for file and linkage."""
    name = re.sub(r"L(?=\d+[A-Za-z_])", "", name)
    match = _ANONYMOUS.search(name)
    while match:
        digits, rest = match.groups()
        length, kept = _length(digits, len(rest))
        name = name[: match.start()] + kept + "@" + rest[length:]
        match = _ANONYMOUS.search(name)
    return name


def _rename(ptx: Path, names: dict[str, str]) -> None:
    """Rename kernels to the names registered by the host, which the CUDA runtime looks up."""
    changed = {old: new for old, new in names.items() if old != new}
    if changed:
        text = ptx.read_text("utf-8", "replace")
        ptx.write_text(
            re.sub(r"[\w$]+", lambda m: changed.get(m.group(), m.group()), text), "utf-8"
        )


_STUB = "__device_stub__"


def kernel_names(data: bytes) -> set[str]:
    """Return the mangled names of the kernels whose launch stubs an object defines."""
    names = set()
    for symbol in set(re.findall(rb"_Z[\w$]*__device_stub__[\w$]+", data)):
        before, _, after = symbol.decode("ascii").partition(_STUB)
        digits = re.search(r"\d+$", before)
        if digits:
            length, kept = _length(digits.group(), len(_STUB) + len(after))
            prefix = before[: digits.start()] + kept
            names.add(f"{prefix}{length - len(_STUB)}{after}")
    names |= {s.decode() for s in re.findall(rb"\0__device_stub__([\w$]+)\0", data)}
    return names


def _length(digits: str, most: int) -> tuple[int, str]:
    """Return the length that these digits end with, `most` at most, and the digits before it.

    In a mangled name, a name that ends in a digit may come right before a length.
    """
    for start, digit in enumerate(digits):
        if digit != "0" and int(digits[start:]) <= most:
            return int(digits[start:]), digits[:start]
    return most, ""


def _depend(command: Command) -> None:
    if command.depfile:
        Path(command.depfile).write_text(f"{command.output}: {command.sources[0]}\n", "utf-8")
