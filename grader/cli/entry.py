"""From the arguments to an exit code."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from cyclopts import (
    CycloptsError,
    MissingArgumentError,
    UnknownOptionError,
    UnusedCliTokensError,
)
from pydantic import ValidationError

from grader.cli.app import FAILED, GRADED, INTERRUPTED, STDIN, USAGE, app, errors, plain
from grader.config import value_error
from grader.errors import GraderError, UsageError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program; return its exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        _name_temporary_folder()
        result = app(
            words(given),
            result_action="return_value",
            exit_on_error=False,
            print_error=False,
        )
    except KeyboardInterrupt:
        errors.print("interrupted: what was finished is kept; run the same command to resume")
        sys.stdout.flush()
        os._exit(INTERRUPTED)  # workers may still wait for guests that are being killed
    except CycloptsError as error:
        errors.print(f"[red]error:[/red] {plain(str(_in_our_words(error)))}", soft_wrap=True)
        return USAGE
    except UsageError as error:
        errors.print(f"[red]error:[/red] {plain(str(error))}", soft_wrap=True)
        return USAGE
    except GraderError as error:
        errors.print(f"[red]grader error:[/red] {plain(str(error))}", soft_wrap=True)
        return FAILED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return GRADED
    except Exception:  # noqa: BLE001 - the exit code must tell our failure from the user's
        errors.print_exception()
        return FAILED
    return result if isinstance(result, int) else GRADED


def words(given: Sequence[str]) -> list[str]:
    """Return the arguments rewritten for the parser.

    A folder called `samples` is graded like any other: the command of that name is meant only when `--to` or `--help`
    follows. `doctor` and `rule` are options that can be written as commands.
    """
    made = [STDIN if argument == "-" else argument for argument in given]
    told = {word.partition("=")[0] for word in made} & {"--to", "--help", "-h"}
    if made[:1] == ["samples"] and not told and Path("samples").is_dir():
        return ["samples/", *made[1:]]
    if made[:1] in (["doctor"], ["rule"]) and not Path(made[0]).exists():
        return [f"--{made[0]}", *made[1:]]
    return made


def _in_our_words(error: CycloptsError) -> Exception:
    """Return the parser's error as one of ours; for an invalid option value it suggests the nearest valid one."""
    cause = error.__cause__
    if isinstance(error, UnusedCliTokensError):
        return UsageError(
            f"unrecognised argument {' '.join(error.unused_tokens or ())!r}",
            "--help lists what can be given",
        )
    if isinstance(error, UnknownOptionError) and "Did you mean" not in str(error):
        return UsageError(str(error).rstrip("."), "--help lists what can be given")
    if isinstance(error, MissingArgumentError) and error.argument is not None:
        if error.argument.index is None:
            return UsageError(f"{error.argument.name} needs a value", "see --help")
        name = error.argument.name.lstrip("-").upper()
        return UsageError(f"{' '.join(error.command_chain or ())} needs {name}", "see --help")
    return value_error(cause, "--{}".format) if isinstance(cause, ValidationError) else error


def _name_temporary_folder() -> None:
    """Set TMPDIR to Python's own choice of a temporary folder where its value is unusable, for compilers."""
    try:
        usable = tempfile.gettempdir()
    except FileNotFoundError as error:
        hint = "set TMPDIR to a folder that you may write to"
        raise GraderError("no folder for temporary files can be written", hint) from error
    for name in {"TMPDIR", "TEMP", "TMP"} & set(os.environ):
        if not os.access(os.environ[name], os.W_OK | os.X_OK):
            os.environ[name] = usable
