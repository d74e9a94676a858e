"""The stock compilers with the real headers, whose result is final."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from grader.build.driver import conditions, device_pass, stub
from grader.build.driver.command import Command
from grader.build.driver.config import Config
from grader.build.driver.confirm import does_clang_agree, sure
from grader.build.driver.tools import STOCK_WAY, Outcome, run, say, scratch, trace

_HEAVY = re.compile(r"\bPYBIND11|\bpybind11\b|\bpy::|torch::(?:nn|optim|jit|data|autograd)\b")
"""Names that only the full torch/extension.h declares."""
_TORCH_CUDA = re.compile(r"^\s*#\s*include\s*[<\"](?:ATen|c10)/cuda/", re.MULTILINE)


def decide_device(
    config: Config,
    command: Command,
    text: str,
    folder: Path,
    outcome: Outcome,
    clang: Callable[[], str],
) -> tuple[Outcome, Path]:
    """Decide a failure over the stub: certain by itself, or checked with the real headers, cheapest first.

    `clang` waits for the host pass and returns what it refused.
    """
    if "nvcc fatal" in outcome.text:
        asked = run([config.nvcc, "--dryrun", *command.arguments])
        if not asked.ok:
            return Outcome(asked.code, _fatal(asked.text)), folder / "stub.ptx"
    if sure(config, command, outcome.text, stub=True):
        return outcome, folder / "stub.ptx"
    if does_clang_agree(config, command, outcome.text, clang()):
        return outcome, folder / "stub.ptx"
    trace(f"over the stub: {outcome.text[:1500]}")
    say(STOCK_WAY)
    return _with_real_headers(config, command, text, folder)


def decide_host(config: Config, command: Command, text: str, folder: Path) -> Outcome | None:
    """Return nvcc's refusal of what clang refuses; None where only the whole compilation can decide."""
    if _HEAVY.search(text):
        return None
    outcome, _ = device_pass.front_end(config, command, text, folder, "light")
    refused = not outcome.ok and sure(config, command, outcome.text, stub=False)
    return outcome if refused else None


def _with_real_headers(
    config: Config, command: Command, text: str, folder: Path
) -> tuple[Outcome, Path]:
    if not _HEAVY.search(text):
        made = device_pass.front_end(config, command, text, folder, "light")
        if made[0].ok or sure(config, command, made[0].text, stub=False):
            return made
    return device_pass.front_end(config, command, text, folder, "full")


def _fatal(text: str) -> str:
    return "".join(f"{line}\n" for line in text.splitlines() if not line.startswith("#$"))


def compile_cuda(config: Config, command: Command, text: str, folder: Path) -> int:
    """Compile by nvcc alone with the real headers; for the simulator its program is added."""
    outcome = _compile_with_real_headers(config, command, [config.nvcc], ["-Xptxas", "-v"])
    say(outcome.text)
    if not outcome.ok or config.device != "sim":
        return outcome.code
    return _embed_program(config, command, text, folder)


def decide_cpp(config: Config, command: Command, text: str, clang: str) -> Outcome | None:
    """Return g++'s refusal over our stub of torch, where it is certain; else None."""
    with scratch() as folder:
        # As system headers: an error in one of their macros is reported where the file uses it.
        flags = stub.write(config, text, folder)
        includes = [re.sub(r"^-I", "-isystem", flag) for flag in flags]
        call = [config.gxx, *includes, *command.arguments, "-fsyntax-only", "-w"]
        outcome = run(call)
    if outcome.ok:
        return None
    by_name = sure(config, command, outcome.text, stub=True)
    return outcome if by_name or does_clang_agree(config, command, outcome.text, clang) else None


def plain_cpp(config: Config, command: Command) -> int:
    """Run g++ with the call as it came, up to its first errors: an old -std has thousands in torch."""
    outcome = _compile_with_real_headers(config, command, [config.gxx], ["-fmax-errors=20"])
    say(outcome.text)
    return outcome.code


def _compile_with_real_headers(
    config: Config, command: Command, compiler: list[str], more: list[str]
) -> Outcome:
    """Compile with the real headers; for the simulator, with its replacements of torch's CUDA headers.

    An object over torch's own CUDA headers calls libc10_cuda, which looks for a driver. The replacements declare fewer
    names, so the real headers accept what they accept; in a `stock` build the real headers are checked anyway.
    """
    libraries = [part for path in config.library_includes for part in ("-isystem", path)]
    rest = [*command.arguments, *libraries, *more]
    if config.device != "sim" or not _names_torch_cuda(command):
        return run([*compiler, *rest])
    if config.mode == "stock":
        verdict = run([*compiler, *rest])
        if not verdict.ok:
            return verdict
    faced = run([*compiler, f"-I{config.stubs}/face", *rest])
    if faced.ok:
        return faced
    trace(f"the face refuses: {faced.text[:1500]}")
    return run([*compiler, *rest])


def _names_torch_cuda(command: Command) -> bool:
    text = Path(command.sources[0]).read_text("utf-8", "replace")
    return _TORCH_CUDA.search(text) is not None


def _embed_program(config: Config, command: Command, text: str, folder: Path) -> int:
    """Put the simulator's program in place of the machine code in nvcc's object."""
    if conditions.conditions_asked(command, text):
        outcome, ptx = device_pass.front_end(config, command, text, folder, "full")
    else:
        outcome, ptx = device_pass.over_stub(config, command, text, folder)
        if not outcome.ok:
            outcome, ptx = device_pass.front_end(config, command, text, folder, "full")
    if not outcome.ok:
        say(outcome.text)
        return outcome.code
    blob = device_pass.gpu_binary(config, command, ptx, ptx, folder)
    return device_pass.embed(blob, Path(str(command.output)))
