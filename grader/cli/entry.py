"""From the arguments to an exit code."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Sequence

from grader.cli.app import FAILED, GRADED, INTERRUPTED, STDIN, USAGE, app, errors, plain
from grader.errors import GraderError, UsageError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program; return its exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        _name_temporary_folder()
        result = app(
            [STDIN if argument == "-" else argument for argument in given],
            result_action="return_value",
            exit_on_error=False,
            print_error=True,
        )
    except KeyboardInterrupt:
        errors.print("interrupted: what was finished is kept, run the same command to go on")
        sys.stdout.flush()
        os._exit(INTERRUPTED)  # workers may still wait for guests that are being killed
    except UsageError as error:
        errors.print(f"[red]error:[/red] {plain(str(error))}")
        return USAGE
    except GraderError as error:
        errors.print(f"[red]grader error:[/red] {plain(str(error))}")
        return FAILED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return GRADED
    except Exception as error:  # noqa: BLE001 - the exit code must tell our failure from the user's
        if type(error).__module__.startswith("cyclopts"):
            return USAGE
        errors.print_exception()
        return FAILED
    return result if isinstance(result, int) else GRADED


def _name_temporary_folder() -> None:
    """Let compilers have the folder that Python takes where TMPDIR names none that can be used."""
    try:
        usable = tempfile.gettempdir()
    except FileNotFoundError as error:
        hint = "set TMPDIR to a folder that you may write to"
        raise GraderError("no folder for temporary files can be written", hint) from error
    for name in {"TMPDIR", "TEMP", "TMP"} & set(os.environ):
        if not os.access(os.environ[name], os.W_OK | os.X_OK):
            os.environ[name] = usable
