"""Commands beside grading: services, sample files and the store."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from grader import config
from grader.cli.app import GRADED, HiddenFlags, app, errors, given_options, out, plain
from grader.cli.checks import check_options, plural
from grader.errors import UsageError
from grader.store import Store

if TYPE_CHECKING:
    from grader.reward import Grader

Protocol = Literal["grade", "kernelgym", "openenv"]
Level = Literal["verdict", "cause", "line", "review"]
"""Repeats `grader.reward.Level`, so that a help text doesn't load the reward."""
SAMPLES = Path(__file__).parent.parent / "samples"
"""In a checkout a link to its `samples/`, in a wheel a folder of files."""


@app.command(name="serve")
def serve_rewards(
    *,
    options: HiddenFlags = None,
    host: str = "127.0.0.1",
    port: int = 8770,
    queue: int = 256,
    token_file: Path | None = None,
    protocol: Protocol = "grade",
    ask: str | None = None,
    turns: int = 3,
    level: Level = "line",
) -> int:
    """Answer a training loop's requests over HTTP: POST /grade gives a reward.

    The options of a grading (--device, --policy, --jobs, ...) are taken as well: see the main help.

    Parameters
    ----------
    options
        What may be set for a grading.
    host
        Address to listen on.
    port
        Port to listen on.
    queue
        Requests that may wait; further ones are refused and asked to retry.
    token_file
        File with the token that requests must carry; without it a token is made and printed. Only for `grade`.
    protocol
        Ours, KernelGYM's, or OpenEnv's; the last two need no token.
    ask
        For `openenv`: names of built-in tasks, separated by commas; else the problems of --tasks, else all.
    turns
        For `openenv`: answers in a session.
    level
        For `openenv` and `kernelgym`: how much feedback an answer gets.

    """
    try:
        from grader.service import http
    except ImportError as error:
        raise _not_installed(error, "serve") from error
    from grader.reward import Grader

    token = _token(token_file, protocol)
    if port not in range(65536):
        raise UsageError(f"--port can't be {port}", "choose a number from 1 to 65535")
    chosen, _ = config.load(given_options(options))
    check_options(chosen)
    with Grader(chosen) as grader:
        if protocol == "grade":
            made = http.Service(grader, token, queue).application()
        elif protocol == "kernelgym":
            made = _kernelgym(grader, queue, level)
        else:
            made = _openenv(grader, ask or chosen.tasks, turns, level, queue)
        shown = "" if token_file or protocol != "grade" else f", token {token}"
        errors.print(plain(f"listening on http://{host}:{port}{shown}"), soft_wrap=True)
        http.run(made, host=host, port=port)
    return GRADED


def _token(file: Path | None, protocol: Protocol) -> str:
    """Return the token from its file, or a new one; only our own protocol has tokens."""
    token = file.read_text("utf-8").strip() if file else secrets.token_urlsafe(24)
    if not token:
        raise UsageError(f"{file} is empty", "write the token into it")
    if file and protocol != "grade":
        raise UsageError(f"the protocol {protocol} has no token", "leave out --token-file")
    return token


def _kernelgym(grader: Grader, queue: int, level: Level) -> Any:
    from grader.service.kernelgym import KernelGym

    return KernelGym(grader, queue, level).application()


def _openenv(
    grader: Grader, asked: str | Path | None, turns: int, level: Level, sessions: int
) -> Any:
    from grader.reward import questions

    try:
        from grader.trainers.openenv import application
    except ImportError as error:
        raise _not_installed(error, "openenv") from error
    return application(grader, questions(asked), turns=turns, level=level, sessions=sessions)


def _not_installed(error: ImportError, extra: str) -> UsageError:
    return UsageError(
        f"{error.name} is not installed", f"install it: pip install 'kernel-grader[{extra}]'"
    )


@app.command(name="mcp")
def serve_agent(*, options: HiddenFlags = None) -> int:
    """Serve a coding agent over standard input and output: review, fix, explain_rule, list_tasks.

    It speaks the Model Context Protocol; the agent's program starts it. The options of a grading
    (--device, --policy, --jobs, ...) are taken as well: see the main help.

    Parameters
    ----------
    options
        What may be set for a grading.

    """
    try:
        from grader.service.mcp import serve
    except ImportError as error:
        raise _not_installed(error, "mcp") from error
    chosen, _ = config.load(given_options(options))
    check_options(chosen)
    serve(chosen)
    return GRADED


@app.command(name="samples")
def copy_samples(*, to: Path) -> int:
    """Copy the sample transcripts that come with the program.

    Parameters
    ----------
    to
        A new or empty folder.

    """
    if to.exists() and (not to.is_dir() or any(to.iterdir())):
        raise UsageError(f"{to} already exists", "name a new folder")
    to.mkdir(parents=True, exist_ok=True)
    found = sorted(SAMPLES.iterdir())
    for sample in found:
        (to / sample.name).write_bytes(sample.read_bytes())
    out.print(f"{plural(len(found), 'sample')} copied; grade them: kernel-grader {plain(str(to))}/")
    return GRADED


@app.command
def cache(*, clear: bool = False, folder: Path | None = None) -> int:
    """Show what the store holds, or clear it.

    Parameters
    ----------
    clear
        Delete all of it.
    folder
        The store's folder, if other than the default in the user's cache folder.

    """
    store = Store(folder)
    if clear:
        store.clear()
    for kind, (count, size) in sorted(store.usage().items()):
        out.print(f"{kind:12} {count:8} entries {size / 1e6:10.1f} MB", highlight=False)
    out.print(plain(str(store.root)))
    return GRADED
