"""The main command, which grades samples: `kernel-grader samples/`."""

from __future__ import annotations

import fnmatch
import secrets
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter
from rich.table import Table

from grader import config
from grader.cli.app import (
    FAILED,
    GATE,
    GRADED,
    SHOWN,
    STDIN,
    Flags,
    app,
    errors,
    given_options,
    out,
    plain,
)
from grader.cli.catalogue import explain
from grader.cli.checks import check_options, check_paths, plural
from grader.config import Options
from grader.errors import UsageError
from grader.store import Store

if TYPE_CHECKING:
    from grader.records import Sample
    from grader.report.folder import RunFolder
    from grader.report.summary import Summary
    from grader.scheduling.executor import Executor
    from grader.scheduling.run import Outcome

MIN_NAME_WIDTH = 16
"""Columns that a sample's name may take however narrow the terminal is."""


@app.default
def grade(
    *paths: str,
    options: Flags = None,
    doctor: Annotated[bool, Parameter(negative=(), group=SHOWN)] = False,
    rule: Annotated[str | None, Parameter(group=SHOWN)] = None,
    json_: Annotated[bool, Parameter(name="--json", negative=(), group=SHOWN)] = False,
    output_format: Annotated[Literal["table", "json", "github"], Parameter(group=SHOWN)] = "table",
    quiet: Annotated[bool, Parameter(name=["--quiet", "-q"], negative=(), group=SHOWN)] = False,
    watch: Annotated[bool, Parameter(negative=(), group=SHOWN)] = False,
) -> int:
    """Grade files and folders, or standard input with `-`.

    Parameters
    ----------
    paths
        Files, folders, or `-` for standard input.
    options
        What may be set for a run.
    doctor
        Print what this machine has, and what each missing piece costs; grade nothing.
    rule
        Explain a rule; grade nothing.
    json_
        Print the rows of results.jsonl to standard output: the same as --output-format json.
    output_format
        Format of standard output: a table, rows of JSON, or GitHub annotations.
    quiet
        Print nothing but errors.
    watch
        Grade, then grade changed files again at each save, until interrupted.

    """
    chosen, _ = config.load(given_options(options))
    if doctor:
        return _doctor(chosen)
    if rule:
        return explain(rule)
    if not paths:
        raise UsageError("nothing to grade", "name a file, a folder, or - for standard input")
    check_paths(path for path in paths if path != STDIN)
    check_options(chosen)
    shown = "none" if quiet else "json" if json_ else output_format
    named = tuple("-" if path == STDIN else path for path in paths)
    return _watch(named, chosen, shown) if watch else _grade(named, chosen, shown)


def _watch(paths: Sequence[str], options: Options, shown: str) -> int:
    from grader.cli.watch import saves

    code = _grade(paths, options, shown)
    for count in saves(paths, options.out):
        errors.print(f"{count} saved", highlight=False)
        code = _grade(paths, options, shown)
    return code


def _grade(paths: Sequence[str], options: Options, shown: str) -> int:
    from grader.report.folder import RunFolder
    from grader.report.summary import summarise

    store = Store(options.cache)
    folder = RunFolder(options.out, store.seal)
    with folder.claim():
        outcome = _run_grading(folder, store, paths, options, quiet=shown == "none")
        changed = folder.settle(outcome.samples, () if options.only else paths)
        if outcome.graded or changed or not folder.index_is_current():
            folder.write_index()
    summary = summarise(folder.rows.lines(outcome.samples))
    if shown == "json":
        for line in folder.rows.lines(outcome.samples):
            sys.stdout.write(f"{line}\n")
    elif shown == "github":
        from grader.report import github

        sys.stdout.write(github.render(folder.reviews(outcome.samples)))
    elif shown == "table":
        _summary(summary, outcome.resumed, options.out)
    return _exit_code(summary, options)


def _run_grading(
    folder: RunFolder, store: Store, paths: Sequence[str], options: Options, *, quiet: bool
) -> Outcome:
    from grader.cli.progress import Progress
    from grader.ingest import read_samples
    from grader.scheduling import run as schedule

    stdin = sys.stdin.buffer if sys.stdin else None  # standard output may be closed
    with Progress(errors, quiet=quiet) as progress:
        # before any preparation: there may be no sample
        found = _wanted_samples(read_samples(paths, stdin, progress.name_skipped), options.only)
        if "-" not in paths:
            progress.count(_wanted_samples(read_samples(paths), options.only))
        seed = folder.seed(options.seed, secrets.randbits(62))
        executor = _executor(options, store, seed, progress.preparing)
        counted, watcher = progress.count_samples(found), progress.watcher()
        outcome = schedule.run(counted, executor, folder, watcher, fresh=options.fresh)
        skipped = progress.skipped_so_far
    if not outcome.samples:
        raise UsageError(
            f"no samples in {', '.join(paths)}", _why_none(skipped, options.only, quiet=quiet)
        )
    return outcome


def _wanted_samples(samples: Iterator[Sample], only: str | None) -> Iterator[Sample]:
    for sample in samples:
        if only is None or fnmatch.fnmatchcase(sample.id, only):
            yield sample


def _why_none(skipped: int, only: str | None, *, quiet: bool) -> str:
    if only is not None:
        return f"no sample's id matches --only {only}"
    if skipped:
        return f"every file was skipped{'; leave out -q to see why' if quiet else ', see above'}"
    return "expected .txt, .md, .py or .jsonl files"


def _executor(
    options: Options, store: Store, seed: int, preparing: Callable[[str], None]
) -> Executor:
    if options.ray:
        from grader.scheduling.cluster import connect

        preparing("joining the cluster")
        try:
            return connect(options, seed)
        finally:
            preparing("")
    from grader import pipeline
    from grader.scheduling import pool

    return pool.open_local(pipeline.open_context(options, store, seed, preparing))


def _exit_code(summary: Summary, options: Options) -> int:
    if options.fail_on == "incorrect" and set(summary.counts) - {"correct"}:
        return GATE
    if options.fail_on == "error" and summary.erroneous:
        return GATE
    return FAILED if summary.counts["grader_error"] else GRADED


def _summary(summary: Summary, resumed: int, folder: Path) -> None:
    from grader.report.status import fix_in_a_word

    table = Table(box=None, pad_edge=False)
    table.add_column("sample", overflow="fold", max_width=max(MIN_NAME_WIDTH, out.width // 3))
    for heading in ("verdict", "errors", "fix", "why"):
        table.add_column(heading, overflow="ellipsis", no_wrap=heading != "why")
    for line in summary.lines:
        table.add_row(
            plain(line.sample),
            line.verdict,
            str(line.errors or ""),
            fix_in_a_word(line.verdict, fixed=line.fixed),
            plain(line.sentence),
        )
    out.print(table)
    total = summary.counts.total()
    if total > len(summary.lines):
        out.print(f"... and {total - len(summary.lines)} more")
    again = f", {resumed} of them already done" if resumed else ""
    out.print(
        f"{plural(total, 'sample')}{again}: "
        + " · ".join(f"{count} {status}" for status, count in summary.shown.most_common())
    )
    out.print(plain(str(folder / "README.md")))


def _doctor(options: Options) -> int:
    from grader.cli.doctor import examine

    table = Table(box=None, pad_edge=False)
    for heading in ("what", "state", "found", "what it costs, what helps"):
        table.add_column(heading)
    for item in examine(options):
        table.add_row(
            item.what,
            "ok" if item.ok else "missing",
            plain(item.found),
            plain(item.advice),
        )
    out.print(table)
    return GRADED
