"""SEC001: loading the file runs programs, reaches the network or changes files."""

import ast
from collections.abc import Iterator

from grader.records import Context, Finding, Severity
from grader.rules.rule import Rule
from grader.source import Source
from grader.source.cuda_code import cuda_code, text, units
from grader.source.python_code import PythonCode, constant_text, python_code

PROGRAMS = ("subprocess.", "os.system", "os.popen", "os.exec", "os.spawn", "os.posix_spawn",
            "pty.", "commands.")  # fmt: skip
NETWORK = ("socket.", "urllib.", "requests.", "http.", "ftplib.", "httpx.", "aiohttp.", "paramiko.",
           "smtplib.", "huggingface_hub.", "wget.")  # fmt: skip
FILES = {
    "os.remove", "os.unlink", "os.rmdir", "os.removedirs", "os.rename", "os.replace", "os.chmod",
    "os.chown", "os.symlink", "os.link", "os.truncate", "shutil.rmtree", "shutil.move",
    "shutil.copyfile", "shutil.copy", "os.mkfifo",
}  # fmt: skip
UNPICKLE = {"pickle.load", "pickle.loads", "dill.loads", "cloudpickle.loads", "marshal.loads"}
PROCESS = {"os.fork", "os.kill", "os.killpg", "os.setuid", "resource.setrlimit", "os.nice"}
HARMLESS_VARIABLES = (
    "TORCH_", "MAX_JOBS", "CUDA_", "CC", "CXX", "NVCC", "PYTORCH_", "OMP_", "TRITON_", "MKL_",
    "PATH",
    "LD_LIBRARY_PATH",
)  # fmt: skip
CPP = {
    "system": "runs a program", "popen": "runs a program", "execl": "runs a program",
    "execv": "runs a program", "execve": "runs a program", "execvp": "runs a program",
    "fork": "starts a process", "vfork": "starts a process", "posix_spawn": "runs a program",
    "socket": "opens a network connection", "connect": "opens a network connection",
    "fopen": "opens a file", "unlink": "deletes a file", "dlopen": "loads a library",
    "getenv": "reads the environment", "setenv": "changes the environment",
    "kill": "ends processes",
}  # fmt: skip
MILD = {"getenv", "fopen"}


def check(source: Source, _context: Context) -> Iterator[Finding]:
    """Look for calls that reach out of the process."""
    code = python_code(source)
    if code is not None:
        for name, call in code.calls:
            found = _what(code, name, call)
            if found is not None and not code.in_main_guard(call):
                severity, what = found
                yield RULE.finding(
                    source.place(call),
                    f"{code.text(call.func)}(...) {what}",
                    severity=severity,
                )
        yield from _environment(source, code)
    yield from _native(source)


def _what(code: PythonCode, name: str, call: ast.Call) -> tuple[Severity, str] | None:
    """Return how grave a call is and what it does; None for a harmless one."""
    if name.startswith(PROGRAMS):
        return "error", "runs another program"
    if name.startswith(NETWORK):
        return "error", "reaches the network"
    if name in FILES:
        return "error", "changes files"
    if name in UNPICKLE:
        return "error", "runs whatever the pickled data says"
    if name in PROCESS:
        return "error", "acts on processes"
    if name in {"exec", "eval", "builtins.exec", "builtins.eval", "runpy.run_path"}:
        return "error", "runs text as code, which a review of this file can't see"
    if name in {"open", "builtins.open", "io.open", "os.open"}:
        return _opening(code, call)
    return None


def _opening(code: PythonCode, call: ast.Call) -> tuple[Severity, str] | None:
    mode = constant_text(call.args[1]) if len(call.args) > 1 else None
    for word in call.keywords:
        mode = constant_text(word.value) if word.arg == "mode" else mode
    path = code.text(call.args[0]) if call.args else ""
    if "__file__" in path and not mode:
        return None
    if mode is not None and set(mode) & set("wax+"):
        own = any(path.rstrip("'\")").endswith(end) for end in (".cu", ".cpp", ".cuh", ".h", ".so"))
        return ("note" if own else "error"), f"writes the file {path}"
    return "note", f"reads the file {path}"


def _environment(source: Source, code: PythonCode) -> Iterator[Finding]:
    for node in code.of(ast.Assign):
        for target in node.targets:
            if isinstance(target, ast.Subscript) and code.canonical(target.value) == "os.environ":
                name = constant_text(target.slice) or "a variable"
                mild = name.startswith(HARMLESS_VARIABLES)
                yield RULE.finding(
                    source.place(node),
                    f"{name} is set in the environment of the whole process",
                    severity="note" if mild else "warning",
                    folded=mild,
                )


def _native(source: Source) -> Iterator[Finding]:
    for unit in units(source):
        own = {function.name for function in unit.functions}
        for call in cuda_code(unit).calls:
            name = call.name.removeprefix("::").removeprefix("std::")
            if name in CPP and call.object is None and call.name not in own:
                yield RULE.finding(
                    unit.place(call.node),
                    f"{text(call.node.child_by_field_name('function'))}(...) {CPP[name]}",
                    severity="note" if name in MILD else "error",
                )


HEAD = "import os\nimport torch\n"
RULE = Rule(
    code="SEC001",
    name="runs-commands-or-touches-the-system",
    summary="Loading this file would start programs, reach the network, change files or run hidden "
    "code; a person should look at it before anyone runs it outside of a sandbox.",
    why="A kernel needs none of this. The grader's sandbox holds it off; another machine may not.",
    bad=f'{HEAD}os.system("nvidia-smi > /tmp/o")\n',
    good=(
        f'{HEAD}name = torch.cuda.get_device_name(0)\npath = os.path.join("a", "b")\n'
        'model = torch.nn.Linear(3, 3).eval()\nhome = os.environ.get("CUDA_HOME")\n'
        "import re\npattern = re.compile('x')\n"
    ),
    guards="Settings of the build such as TORCH_CUDA_ARCH_LIST and MAX_JOBS are notes, writing a .cu file to build it is one too; "
    "model.eval() and re.compile are what they are.",
    check=check,
)
