"""The command-line application: name and help, consoles, exit codes, options that every command takes."""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import App, Group, Parameter
from pydantic import create_model
from rich.console import Console
from rich.markup import escape as escape_markup

from grader.config import Options
from grader.report.escape import clean

GRADED, GATE, USAGE, FAILED, INTERRUPTED = 0, 1, 2, 3, 130
STDIN = "/dev/stdin"
"""Stands in for `-` while the options are parsed: cyclopts takes a bare dash for an option."""

HELP = """Grade and review CUDA and Triton kernels that language models wrote, with or without a GPU.

First steps

    kernel-grader samples/            grade a folder into reviews/
    kernel-grader answer.txt --task softmax
    cat out.jsonl | kernel-grader - --json
    kernel-grader runs/mine --tasks KernelBench/
    kernel-grader mine.py --watch     grade again at each save
    kernel-grader --doctor            what this machine can do
    kernel-grader --rule SYN001       explain a rule

Exit codes: 0 graded, 1 the --fail-on gate tripped, 2 wrong input,
3 the grader itself failed, 130 interrupted.
"""

app = App(
    name="kernel-grader",
    help=HELP,
    help_format="plaintext",
    version=lambda: version("kernel-grader"),
    version_flags=["--version"],
    default_parameter=Parameter(negative_iterable=()),
    suppress_keyboard_interrupt=False,  # main() reports what is kept, and doesn't wait for guests
)
app.register_install_completion_command()
errors = Console(stderr=True)
out = Console()

GROUPS: dict[str, tuple[str, ...]] = {
    "Most used": ("task", "dtype", "tasks", "device", "out", "jobs", "only"),
    "What counts": ("backward", "policy", "shapes", "seed", "select", "ignore", "fail_on"),
    "Fixes": ("repair", "repair_tries", "llm"),
    "On the simulator": ("exact",),
    "On a GPU": ("timing", "torch_compile", "profile", "sanitize"),
    "Limits": (
        "build_seconds",
        "run_seconds",
        "sample_seconds",
        "explain_seconds",
        "settle_early",
        "memory_gb",
        "unsafe_no_sandbox",
    ),
    "Machine": ("gpu", "build", "cache", "fresh", "ray"),
}
"""The options under the headings of the help, in order."""
SHOWN = Group("Output", sort_key=1)
"""Options for the terminal output."""
if TYPE_CHECKING:
    GroupedOptions = Options
else:
    _headings = {
        name: Group(heading, sort_key=number)
        for number, (heading, names) in enumerate(GROUPS.items(), start=2)
        for name in names
    } | dict.fromkeys(GROUPS["Most used"], Group("Most used", sort_key=0))
    GroupedOptions = create_model(
        "GroupedOptions",
        __base__=Options,
        **{
            name: (Annotated[field.annotation, Parameter(group=_headings[name])], field)
            for name, field in Options.model_fields.items()
        },
    )
Flags = Annotated[GroupedOptions | None, Parameter(name="*")]
HiddenFlags = Annotated[GroupedOptions | None, Parameter(name="*", show=False)]
"""The grading options, in commands that have more important options of their own."""


def plain(text: str) -> str:
    """Return the text escaped for a console: markup and control characters from a sample have no effect."""
    return escape_markup(clean(text))


def given_options(options: Options | None) -> dict[str, Any]:
    """Return the options set on the command line, with lists split at commas."""
    if options is None:
        return {}
    named = {name: getattr(options, name) for name in options.model_fields_set}
    return {
        name: _split_at_commas(value) if isinstance(value, tuple) else value
        for name, value in named.items()
    }


def _split_at_commas(values: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(part for value in values for part in value.split(",") if part)
