"""SEC003: the build reads or runs files outside the submission."""

import re
from collections.abc import Iterator

from grader.rules import Context, Finding, Source, rule_of
from grader.source import Extension
from grader.source.nodes import text

RUNS_CODE = re.compile(
    r"-fplugin|-specs=|-wrapper|--compiler-bindir|-ccbin|^-B|^@|-Xcompiler[= ]@|-fuse-ld=|"
    r"--compiler-options[= ].*(?:-fplugin|-specs|-wrapper)|-load\b|-Wl,--?plugin|-dynamic-linker"
)
WRITES = re.compile(r"^-o\b|^--output-file|-MF\b|-save-temps|--keep-dir")
SYSTEM = ("/usr/", "/opt/")
ENDLESS = ("/dev/", "/proc/", "/sys/")
"""No headers, some of them without an end: no compiler is made to read those."""


def check(source: Source, _context: Context) -> Iterator[Finding]:
    """Look at flags, the extension's name, and files that the text includes."""
    for extension in source.extensions:
        yield from _flags(source, extension)
        name = extension.name or ""
        if any(mark in name for mark in ("/", "..", "\n", "$", " ")):
            yield RULE.finding(
                source.place(extension.keywords.get("name", extension.node)),
                f"the name {name[:40]!r} leads the build to another folder, or adds lines to its script",
            )
    for unit in source.units:
        for node in unit.nodes("preproc_include"):
            header = text(node.child_by_field_name("path")).strip('<>"')
            if header.startswith(("/", "~", "..")) and not header.startswith(SYSTEM):
                yield RULE.finding(
                    unit.place_line(node.start_point[0] + 1),
                    f"{header} is a file of the machine, not of the submission: compilers print what they read",
                    rejects=header.startswith(ENDLESS),
                )
        for node in unit.nodes("string_literal", "raw_string_literal"):
            if ".incbin" in text(node):
                yield RULE.finding(
                    unit.place(node), ".incbin puts a file of the machine into the library",

                )  # fmt: skip


def _flags(source: Source, extension: Extension) -> Iterator[Finding]:
    for keyword, flags in (
        ("extra_cflags", extension.cflags),
        ("extra_cuda_cflags", extension.cuda_cflags),
        ("extra_ldflags", extension.ldflags),
    ):
        for flag in flags or ():
            if RUNS_CODE.search(flag) or WRITES.search(flag):
                what = "makes the compiler run or load another program"
                yield RULE.finding(
                    source.place(extension.keywords.get(keyword, extension.node)),
                    f"{flag} {what if RUNS_CODE.search(flag) else 'writes outside of the build'}",
                    severity="error" if RUNS_CODE.search(flag) else "warning",
                )


RULE = rule_of(__file__, check)
