"""Checks of the options and paths on the command line, before any work begins."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from pathlib import Path

from grader.cli.app import app
from grader.config import Options
from grader.errors import UsageError


def check_options(options: Options) -> None:
    """Raise UsageError, with the nearest name, for an option that names something unknown."""
    _check_gpu(options.gpu)
    _check_rules(options)
    if options.tasks is not None:
        _check_problem_folder(options.tasks)
    if options.task is not None:
        from grader.tasks.choose import asked_for

        asked_for(options.task, options.tasks)


def check_paths(paths: Iterable[str]) -> None:
    """Raise UsageError for a missing path, which may be a misspelt command."""
    for path in paths:
        if not Path(path).exists():
            hint = nearest(path, (name for name in app if name[0] != "-"), "check the path")
            raise UsageError(f"there is no file or folder {path}", hint)


def run_folder(path: Path) -> Path:
    """Return the path of a run folder; raise UsageError for any other folder."""
    if (path / "data").is_dir() and any((path / "data").glob("*.json")):
        return path
    near = [str(found.parent.parent) for found in _data_files(path)]
    hint = f"did you mean {near[0]}?" if near else "name the folder that was given as --out"
    state = "is not a run folder" if path.exists() else "does not exist"
    raise UsageError(f"{path} {state}", hint)


def nearest(word: str, known: Iterable[str], instead: str) -> str:
    """Return a hint that names the nearest of the known words, or what to do instead."""
    found = difflib.get_close_matches(word, list(known), n=1)
    return f"did you mean {found[0]}?" if found else instead


def plural(count: int, noun: str) -> str:
    """Return `1 sample`, `2 samples`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _data_files(path: Path) -> list[Path]:
    """Return one review from each run folder in the folder, or beside a path that doesn't exist."""
    below = path if path.is_dir() else path.parent
    folders = sorted(below.glob("*/data")) if below.is_dir() else []
    return [first for folder in folders if (first := next(folder.glob("*.json"), None))]


def _check_gpu(name: str) -> None:
    from grader.simulator.gpus import GPUS

    if name.lower() not in GPUS:
        every = f"choose one of {', '.join(GPUS)}"
        raise UsageError(f"no GPU is called {name!r}", nearest(name.lower(), GPUS, every))


def _check_rules(options: Options) -> None:
    if not options.select and not options.ignore:
        return
    from grader.rules import all_rules
    from grader.rules.engine import choose_rules

    rules = all_rules()
    known = [*rules, *(rule.name for rule in rules.values()), *sorted({c[:3] for c in rules})]
    for option, words in (("--select", options.select), ("--ignore", options.ignore)):
        for word in words:
            if not choose_rules(rules.values(), (word,), ()):
                hint = nearest(word, known, "see: rules")
                raise UsageError(f"{option} {word} names no rule", hint)


def _check_problem_folder(folder: Path) -> None:
    if not folder.exists():
        raise UsageError(f"--tasks {folder} does not exist", "name a folder of problem files")
    if folder.is_file():
        raise UsageError(f"--tasks {folder} is a file", f"use --task {folder} for one problem")
    if not any(_is_problem(path) for path in folder.rglob("*.py")):
        hint = "a problem file is a .py file that defines Model and get_inputs"
        raise UsageError(f"--tasks {folder} holds no problem file", hint)


def _is_problem(path: Path) -> bool:
    from grader.tasks import problem

    try:
        problem.load(path)
    except UsageError:
        return False
    return True
