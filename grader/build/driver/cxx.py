"""g++'s place in torch's ninja file: main.cpp, and the link."""

from __future__ import annotations

import re
from pathlib import Path

from grader.build.driver import absent, conditions, halves, host_pass, shared_pass
from grader.build.driver.command import Command, parse
from grader.build.driver.config import Config
from grader.build.driver.tools import STOCK_WAY, Outcome, run, say, scratch, trace

_CUDA_LIBRARIES = {
    "c10_cuda", "torch_cuda", "cudart", "cudart_static", "cudadevrt", "cuda", "nvrtc",
    "cublas", "cublasLt", "cudnn", "cufft", "curand", "cusolver", "cusparse",
}  # fmt: skip
"""Libraries that the simulator replaces or lacks; loading an extension then names the missing symbol."""
_FIRST = re.compile(r"\s*#include <torch/extension\.h>\n")


def compile_cpp(config: Config, command: Command) -> int:
    """Compile one C++ file to an object; returns the exit status."""
    if command.depfile:
        Path(command.depfile).write_text(f"{command.output}: {command.sources[0]}\n", "utf-8")
    text = Path(command.sources[0]).read_text("utf-8", "replace")
    reason = _why_unsuited(config, command, text)
    if not reason and shared_pass.leave_out(command, text):
        return 0
    return _compile_alone(config, command, text, reason)


def _compile_alone(config: Config, command: Command, text: str, reason: str = "") -> int:
    if not reason:
        with scratch() as folder:
            outcome = host_pass.cpp_object(config, command, text, folder)
        if outcome.ok:
            return 0
        if config.mode in {"draft", "exact", "literal"}:
            say(outcome.text)
            return outcome.code
        from grader.build.driver import stock

        refused = stock.decide_cpp(config, command, text, outcome.text)
        if refused is not None:
            say(refused.text)
            return refused.code
        reason = f"clang failed: {outcome.text[:2000]}"
    from grader.build.driver import stock

    say(STOCK_WAY)
    trace(f"stock way: {reason}")
    return stock.plain_cpp(config, command)


def _why_unsuited(config: Config, command: Command, text: str) -> str:
    if config.mode == "stock" or config.zig is None or not config.precompiled:
        return "asked for, or no clang"
    if not _FIRST.match(text):
        return "the file does not start with load_inline's include"
    if (header := host_pass.cpp_header(command, text)) not in config.precompiled:
        return f"{header} is not precompiled"
    if name := conditions.conditions_asked(command, text):
        return f"the text asks for {name}"
    return host_pass.why_unsuited(config, command, command.options)


def link(config: Config, command: Command) -> int:
    """Link the extension against the simulator's runtime in CUDA's place, or unchanged."""
    if left := shared_pass.left_over(command):
        text = Path(left.sources[0]).read_text("utf-8", "replace")
        if status := _compile_alone(config, left, text):
            return status
    arguments = shared_pass.linked_once(command)
    command = parse(arguments)
    if config.device == "sim":
        arguments = [
            a for a in arguments if a.removeprefix("-l") not in _CUDA_LIBRARIES or a[:2] != "-l"
        ]
        if len(arguments) < len(command.arguments):
            folders = dict.fromkeys(str(Path(name).parent) for name in config.libraries)
            arguments += [*config.libraries, *(f"-Wl,-rpath,{folder}" for folder in folders)]
    elif config.cudart:
        arguments = [config.cudart if a == "-lcudart" else a for a in arguments]
    with scratch() as folder:
        if config.device == "sim":
            arguments += absent.stand_ins(config, command.sources, folder)
        outcome = _link(config, command, arguments, folder)
    say(outcome.text)
    return outcome.code


def _link(config: Config, command: Command, arguments: list[str], folder: Path) -> Outcome:
    """Link by lld, with the archive of a header's missing half; by g++'s own linker where lld refuses."""
    if config.mode == "stock" or config.zig is None:
        return run([config.gxx, *arguments])
    quick = ["-fuse-ld=lld", f"-B{config.programs}"]
    outcome = run([config.gxx, *arguments, *halves.flags_that_link(config), *quick])
    more: list[Path] = []
    if outcome.ok and "main" in config.precompiled and (names := _missed_inputs(config, command)):
        trace(f"in no half: {names[:5]}")
        if all(run(step).ok for step in halves.commands(config, "main", folder)):
            more = [folder / "main.a"]
            outcome = run([config.gxx, *arguments, *halves.flags_that_link(config, *more), *quick])
    if outcome.ok:
        return outcome
    trace(f"lld: {outcome.text[:1000]}")
    # Only the archives ask for some libraries, and they come last: where g++ leaves out libraries that nothing before
    # them has asked for, the extension would lack symbols of torch when it is loaded.
    whole = ["-Wl,--no-as-needed", *arguments, *halves.flags_that_link(config, *more)]
    return run([config.gxx, *whole])


def _missed_inputs(config: Config, command: Command) -> list[bytes]:
    return halves.lacks(config, halves.undefined_symbols(Path(str(command.output))))
