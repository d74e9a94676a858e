"""The stock compilers with the real headers: what they say is the verdict."""

from __future__ import annotations

import re
from pathlib import Path

from grader.build.driver import device_pass
from grader.build.driver.command import Command
from grader.build.driver.config import Config
from grader.build.driver.tools import STOCK_WAY, Outcome, run, say, trace

_ERROR = re.compile(
    r"^(?P<file>[^\s(]+)\((?P<line>\d+)\): (?:catastrophic )?error(?: #[\w-]+)?: (?P<text>.*)",
    re.MULTILINE,
)
_UNDEFINED = re.compile(
    r'(?:identifier "(\w+)" is undefined|has no member "(\w+)"|"(\w+)" has not been declared)'
)
_MISSING_FILE = re.compile(r"fatal error: (\S+): No such file or directory")
_HEAVY = re.compile(r"\bPYBIND11|\bpybind11\b|\bpy::|torch::(?:nn|optim|jit|data|autograd)\b")
"""What only the full torch/extension.h has."""
_TORCH_CUDA = re.compile(r"^\s*#\s*include\s*[<\"](?:ATen|c10)/cuda/", re.MULTILINE)


def decide_device(
    config: Config, command: Command, text: str, folder: Path, outcome: Outcome
) -> tuple[Outcome, Path]:
    """Decide a failure over the stub: sure as it stands, or by the real headers, cheapest first."""
    if "nvcc fatal" in outcome.text:
        asked = run([config.nvcc, "--dryrun", *command.arguments])
        if not asked.ok:
            return Outcome(asked.code, _fatal(asked.text)), folder / "stub.ptx"
    if sure(config, command, outcome.text, stub=True):
        return outcome, folder / "stub.ptx"
    trace(f"over the stub: {outcome.text[:1500]}")
    say(STOCK_WAY)
    if not _HEAVY.search(text):
        made = device_pass.front_end(config, command, text, folder, "light")
        if made[0].ok or sure(config, command, made[0].text, stub=False):
            return made
    return device_pass.front_end(config, command, text, folder, "full")


def _fatal(text: str) -> str:
    return "".join(f"{line}\n" for line in text.splitlines() if not line.startswith("#$"))


def sure(config: Config, command: Command, log: str, *, stub: bool) -> bool:
    """Whether the first error must be one with all of the real headers as well.

    It must when it is about a name that stands nowhere in any header that the file could have
    seen, or about a header that isn't there: what we compile with only ever has fewer names. With
    real declarations (not `stub`) every error is sure but one about names.
    """
    missing = _MISSING_FILE.search(log)
    if missing:
        return not _can_find(config, command, missing.group(1))
    error = _ERROR.search(log)
    if error is None or Path(error.group("file")).name != Path(command.sources[0]).name:
        return False
    text = error.group("text")
    if "no suitable conversion" in text and "DeprecatedTypeProperties" in text:
        return not config.dispatch_takes_type
    undefined = _UNDEFINED.search(text)
    if undefined is None:
        return not stub and 'followed by "::"' not in text
    return _nowhere(config, command, next(group for group in undefined.groups() if group))


def _nowhere(config: Config, command: Command, name: str) -> bool:
    """Whether none of the headers that the file includes has this word."""
    words = set(Path(config.path("words.txt")).read_text("utf-8").split("\n"))
    own = Path(command.sources[0]).read_text("utf-8", "replace")
    return name not in words and "##" not in own and not _other_headers(config, own)


def _other_headers(config: Config, text: str) -> list[str]:
    """Return included headers whose words were not gathered."""
    known = set(Path(config.path("headers.txt")).read_text("utf-8").split("\n"))
    included = re.findall(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', text, re.MULTILINE)
    return [name for name in included if name not in known]


def _can_find(config: Config, command: Command, name: str) -> bool:
    folders = [*command.includes, *command.system_includes, *config.library_includes]
    folders += [*config.torch_includes, *config.cuda_includes, *config.system_includes]
    return any(Path(folder, name).exists() for folder in folders)


def compile_cuda(config: Config, command: Command, text: str, folder: Path) -> int:
    """Compile by nvcc alone with the real headers; for the simulator its program is added."""
    outcome = _compiled(config, command, [config.nvcc], ["-Xptxas", "-v"])
    say(outcome.text)
    if not outcome.ok or config.device != "sim":
        return outcome.code
    return _embed_program(config, command, text, folder)


def plain_cpp(config: Config, command: Command) -> int:
    """Run g++ with the call as it came."""
    outcome = _compiled(config, command, [config.gxx], [])
    say(outcome.text)
    return outcome.code


def _compiled(config: Config, command: Command, compiler: list[str], more: list[str]) -> Outcome:
    """Compile with the real headers; what the simulator is to run, with its face on torch's CUDA.

    An object over torch's own CUDA headers calls libc10_cuda, which looks for a driver. The face
    has fewer names, so what it accepts the real headers accept; where the stock build was asked
    for, they are asked all the same.
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
    """Put the simulator's program in the place of the machine code in nvcc's object."""
    outcome, ptx = device_pass.front_end(config, command, text, folder, "stub")
    if not outcome.ok:
        outcome, ptx = device_pass.front_end(config, command, text, folder, "full")
    if not outcome.ok:
        say(outcome.text)
        return outcome.code
    blob = device_pass.gpu_binary(config, command, ptx, ptx, folder)
    return device_pass.embed(blob, Path(str(command.output)))
