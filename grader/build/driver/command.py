"""One compiler call of torch's ninja file, parsed, and the flags that are refused in it.

The sandbox contains a hostile submission; these flags are refused because they have no honest use in an answer, and so
that the report can give the reason.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

_TAKES_VALUE = {
    "-o", "-I", "-isystem", "-D", "-U", "-L", "-l", "-x", "-std", "-include", "-MF", "-MT",
    "-MQ", "-Xptxas", "-Xcompiler", "-Xcudafe", "-Xnvlink", "-Xlinker", "-Xfatbin", "-gencode",
    "-arch", "-code", "-ccbin", "-maxrregcount", "-idirafter", "-iquote", "-B", "-T",
    "-wrapper", "-specs", "-z", "--compiler-options", "--ptxas-options", "--generate-code",
    "--gpu-architecture", "--gpu-code", "--compiler-bindir", "--linker-options",
    "--maxrregcount", "--include-path", "--system-include", "--define-macro",
    "--undefine-macro", "--library-path", "--library", "--output-file", "--std",
    "--cudafe-options", "--diag-suppress", "-diag-suppress", "--pre-include", "--options-file",
    "-optf", "--threads", "-t", "-rdc", "--relocatable-device-code", "-ftz", "-prec-div",
    "-prec-sqrt", "-fmad", "--dependency-output",
}  # fmt: skip
_LONG_NAMES = {
    "--compiler-options": "-Xcompiler",
    "--ptxas-options": "-Xptxas",
    "--generate-code": "-gencode",
    "--gpu-architecture": "-arch",
    "--compiler-bindir": "-ccbin",
    "--include-path": "-I",
    "--system-include": "-isystem",
    "--define-macro": "-D",
    "--undefine-macro": "-U",
    "--output-file": "-o",
    "--std": "-std",
    "--pre-include": "-include",
    "--linker-options": "-Xlinker",
    "--dependency-output": "-MF",
    "--relocatable-device-code": "-rdc",
}
_JOINED = ("-I", "-D", "-U", "-L", "-l", "-o", "-B", "-T", "-x")
_WHOLE = {"-lineinfo", "-lto", "-dlto", "-odir", "-objtemp"}
"""Names of nvcc's that look like a joined `-l` or `-o`."""
_REFUSED = {
    "-fplugin": "a compiler plugin",
    "-specs": "a compiler specification file",
    "--specs": "a compiler specification file",
    "-wrapper": "a program in the compiler's place",
    "-ccbin": "a compiler of its own",
    "-B": "compiler programs of its own",
    "-T": "a linker script",
    "-optf": "an options file",
    "--options-file": "an options file",
    "-include": "a file included from outside",
    "-imacros": "a file included from outside",
    "-keep-dir": "output outside of its folder",
    "--keep-dir": "output outside of its folder",
    "-dumpdir": "output outside of its folder",
    "-idirafter": "headers from outside",
    "-iquote": "headers from outside",
    "-fdump": "dumps of the compiler",
    "--sysroot": "another system's headers",
    "-fuse-ld": "a linker of its own",
}
_REFUSED_LINKER = re.compile(
    r"^(?:-T|--script|--dynamic-list|--version-script|-plugin|--plugin|@|-rpath|--wrap|"
    r"--dynamic-linker|-I\b|--just-symbols|-R|--audit|--depaudit|--auxiliary|--filter|-[PF]|-f(?!lto))"
)


class RefusedError(Exception):
    """A flag or a path that is not allowed in the build of an answer."""


@dataclass
class Command:
    """A compiler call: inputs, output, and the other flags, in order."""

    sources: list[str] = field(default_factory=list)
    output: str | None = None
    depfile: str | None = None
    compiles: bool = False
    defines: list[str] = field(default_factory=list)
    """Values of `-D` and `-U`, as written."""
    includes: list[str] = field(default_factory=list)
    """Folders of `-I`: torch puts the submission's own extra_include_paths there."""
    system_includes: list[str] = field(default_factory=list)
    options: list[tuple[str, str | None]] = field(default_factory=list)
    """All other flags, long names made short, with their values."""
    arguments: list[str] = field(default_factory=list)
    """The original call."""

    def value(self, name: str) -> str | None:
        """Return the last value that the option was given."""
        return next((v for n, v in reversed(self.options) if n == name), None)

    @property
    def relocatable(self) -> bool:
        """Whether its device code needs a device link, which `load_inline` never runs."""
        return self.value("-rdc") == "true"

    def values(self, name: str) -> list[str]:
        """Return every value that the option was given, in order."""
        return [v for n, v in self.options if n == name and v is not None]


def _split_argument(argument: str, following: str | None) -> tuple[str, str | None, bool]:
    """Return name, value, and whether the value was an argument of its own."""
    name, equals, value = argument.partition("=")
    if argument in _TAKES_VALUE:
        return argument, following, True
    if equals and name in _TAKES_VALUE and not name.startswith(_JOINED):
        return name, value, False
    for prefix in _JOINED:
        if argument in _WHOLE:
            break
        if argument.startswith(prefix) and not argument.startswith("--"):
            return prefix, argument[len(prefix) :], False
    return argument, None, False


def parse(arguments: list[str]) -> Command:
    """Parse a compiler call in nvcc's or g++'s style."""
    command = Command(arguments=arguments)
    index = 0
    while index < len(arguments):
        argument = arguments[index]
        following = arguments[index + 1] if index + 1 < len(arguments) else None
        index += 1
        if not argument.startswith("-") and not argument.startswith("@"):
            command.sources.append(argument)
            continue
        name, value, separate = _split_argument(argument, following)
        index += separate
        _place(command, _LONG_NAMES.get(name, name), value)
    return command


def _place(command: Command, name: str, value: str | None) -> None:
    if name == "-o":
        command.output = value
    elif name == "-c":
        command.compiles = True
    elif name == "-MF":
        command.depfile = value
    elif name in {"-MD", "-MMD"}:
        pass
    elif name in {"-D", "-U"} and value is not None:
        command.defines.append(name + value)
    elif name == "-I" and value is not None:
        command.includes.append(value)
    elif name == "-isystem" and value is not None:
        command.system_includes.append(value)
    else:
        command.options.append((name, value))


def refuse(command: Command, allowed: list[str]) -> None:
    """Raise RefusedError for a flag or path that is not allowed in a submission's build.

    `allowed` are the folders that sources, headers, libraries and outputs may be in.
    """
    for name, value in command.options:
        for refused, what in _REFUSED.items():
            if name == refused or name.startswith((refused + "=", refused + "-")):
                raise RefusedError(f"refused: {name} {value or ''} would bring in {what}".rstrip())
        if name.startswith("@"):
            raise RefusedError(f"refused: {name} would read flags from a file")
        if name == "-Xlinker" or name.startswith("-Wl,"):
            for part in (value or name.removeprefix("-Wl,")).split(","):
                if _REFUSED_LINKER.match(part):
                    raise RefusedError(f"refused: linker option {part}")
        if name == "-Xcompiler" and value:
            inner = parse([part for part in value.strip("'\"").replace(",", " ").split() if part])
            refuse(inner, allowed)
    paths = [*command.sources, *command.includes]
    paths += [p for p in (command.output, command.depfile) if p]
    for path in paths:
        _refuse_outside(path, allowed)


def _refuse_outside(path: str, allowed: list[str]) -> None:
    resolved = Path(path).resolve()
    if not any(resolved.is_relative_to(folder) for folder in allowed):
        raise RefusedError(f"refused: {path} is outside of the build")
