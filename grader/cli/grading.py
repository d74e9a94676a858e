"""The program's main job: `kernel-grader samples/`."""

from __future__ import annotations

import secrets
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter
from rich.table import Table

from grader import config
from grader.cli.app import FAILED, GATE, GRADED, STDIN, Flags, app, errors, given, out, plain
from grader.cli.catalogue import explain
from grader.config import Options
from grader.errors import UsageError
from grader.store import Store

if TYPE_CHECKING:
    from grader.report.folder import RunFolder
    from grader.report.summary import Summary
    from grader.schedule import Outcome, Workers


@app.default
def grade(
    *paths: str,
    options: Flags = None,
    doctor: Annotated[bool, Parameter(negative=())] = False,
    rule: str | None = None,
    json_: Annotated[bool, Parameter(name="--json", negative=())] = False,
    output_format: Literal["table", "json", "github"] = "table",
    quiet: Annotated[bool, Parameter(name=["--quiet", "-q"], negative=())] = False,
    watch: Annotated[bool, Parameter(negative=())] = False,
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
        Print the rows of results.jsonl to standard output: short for --output-format json.
    output_format
        What goes to standard output: a table, rows of JSON, or GitHub annotations.
    quiet
        Print nothing but errors.
    watch
        Grade, then grade again what changed each time that a file is saved, until interrupted.

    """
    chosen, _ = config.load(given(options))
    if doctor:
        return _doctor(chosen)
    if rule:
        return explain(rule)
    if not paths:
        raise UsageError("nothing to grade", "name a file, a folder, or - for standard input")
    shown = "none" if quiet else "json" if json_ else output_format
    named = tuple("-" if path == STDIN else path for path in paths)
    return _watch(named, chosen, shown) if watch else _grade(named, chosen, shown)


def _watch(paths: Sequence[str], options: Options, shown: str) -> int:
    from grader.watch import saves

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
    with folder.claimed():
        outcome = _run(folder, store, paths, options, quiet=shown == "none")
        changed = folder.settle(outcome.samples, () if options.only else paths)
        if outcome.graded or changed or not folder.indexed():
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


def _run(
    folder: RunFolder, store: Store, paths: Sequence[str], options: Options, *, quiet: bool
) -> Outcome:
    import fnmatch

    from grader import schedule
    from grader.ingest import read_samples
    from grader.progress import Progress

    seed = folder.seed(options.seed, secrets.randbits(62))
    stdin = sys.stdin.buffer if sys.stdin else None  # it may be closed
    found = read_samples(paths, stdin)  # before anything is prepared: there may be nothing
    with Progress(errors, quiet=quiet) as progress:
        workers = _workers(options, store, seed, progress.preparing)
        samples = (
            sample
            for sample in found
            if options.only is None or fnmatch.fnmatchcase(sample.id, options.only)
        )
        counted, watcher = progress.counted(samples), progress.watcher()
        outcome = schedule.run(counted, workers, folder, watcher, fresh=options.fresh)
    if not outcome.samples:
        raise UsageError(
            f"no samples in {', '.join(paths)}", "expected .txt, .md, .py or .jsonl files"
        )
    return outcome


def _workers(
    options: Options, store: Store, seed: int, preparing: Callable[[str], None]
) -> Workers:
    if options.ray:
        from grader.cluster import connect

        preparing("joining the cluster")
        try:
            return connect(options, seed)
        finally:
            preparing("")
    from grader import crew, pipeline

    return crew.gather(pipeline.open_workshop(options, store, seed, preparing))


def _exit_code(summary: Summary, options: Options) -> int:
    if options.fail_on == "incorrect" and set(summary.counts) - {"correct"}:
        return GATE
    if options.fail_on == "error" and summary.erroneous:
        return GATE
    return FAILED if summary.counts["grader_error"] else GRADED


def _summary(summary: Summary, resumed: int, folder: Path) -> None:
    table = Table(box=None, pad_edge=False)
    for heading in ("sample", "verdict", "errors", "mend", "why"):
        table.add_column(heading, overflow="ellipsis", no_wrap=heading != "why")
    for line in summary.lines:
        table.add_row(
            plain(line.sample),
            line.status,
            str(line.errors or ""),
            "passes" if line.mended else "",
            plain(line.sentence),
        )
    out.print(table)
    total = summary.counts.total()
    if total > len(summary.lines):
        out.print(f"... and {total - len(summary.lines)} more")
    again = f", {resumed} of them already done" if resumed else ""
    out.print(
        f"{total} samples{again}: "
        + " · ".join(f"{count} {status}" for status, count in summary.counts.most_common())
    )
    out.print(plain(str(folder / "README.md")))


def _doctor(options: Options) -> int:
    from grader.doctor import examine

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
