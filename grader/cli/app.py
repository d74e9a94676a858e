"""The program's frame: its name and help, its consoles, its exit codes, what every command may be given."""

from __future__ import annotations

from importlib.metadata import version
from typing import Annotated, Any

from cyclopts import App, Parameter
from rich.console import Console
from rich.markup import escape as escape_markup

from grader.config import Options
from grader.report.escape import clean

GRADED, GATE, USAGE, FAILED, INTERRUPTED = 0, 1, 2, 3, 130
STDIN = "/dev/stdin"
"""What `-` becomes before the options are parsed: cyclopts takes a bare dash for one of them."""

HELP = """Grade and review CUDA kernels that language models wrote, with or without a GPU.

    kernel-grader samples/                 grade a folder of transcripts into reviews/
    kernel-grader answer.txt --task softmax
    cat out.jsonl | kernel-grader - --json
    kernel-grader runs/mine --tasks KernelBench/
    kernel-grader mine.py --watch          grade again at each save
    kernel-grader --doctor                 what this machine can do
    kernel-grader --rule SYN001            explain a rule

Exit codes: 0 graded, 1 the --fail-on gate tripped, 2 usage, 3 the grader itself failed, 130 interrupted.
"""

app = App(
    name="kernel-grader",
    help=HELP,
    help_format="plaintext",
    version=lambda: version("kernel-grader"),
    version_flags=["--version"],
    default_parameter=Parameter(negative_iterable=()),
    suppress_keyboard_interrupt=False,  # main() says what is kept, and waits for no guest
)
app.register_install_completion_command()
errors = Console(stderr=True)
out = Console()

Flags = Annotated[Options | None, Parameter(name="*")]


def plain(text: str) -> str:
    """Return text that a console shows as it is: a sample's words in it neither mark up nor control."""
    return escape_markup(clean(text))


def given(options: Options | None) -> dict[str, Any]:
    """Return what was set on the command line, lists split at their commas."""
    if options is None:
        return {}
    named = {name: getattr(options, name) for name in options.model_fields_set}
    return {
        name: _split(value) if isinstance(value, tuple) else value for name, value in named.items()
    }


def _split(values: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(part for value in values for part in value.split(",") if part)
