"""Commands, options, exit codes; the only module that prints."""

from __future__ import annotations

import os
import secrets
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import App, Parameter
from rich.console import Console
from rich.markup import escape as escape_markup
from rich.table import Table

from grader import config
from grader.config import Options
from grader.errors import GraderError, UsageError
from grader.store import Store

if TYPE_CHECKING:
    from grader.report.folder import RunFolder
    from grader.report.summary import Summary
    from grader.schedule import Outcome, Workers

GRADED, GATE, USAGE, FAILED, INTERRUPTED = 0, 1, 2, 3, 130
STDIN = "/dev/stdin"

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
    version_flags=["--version"],
    default_parameter=Parameter(negative_iterable=()),
    suppress_keyboard_interrupt=False,  # main() says what is kept, and waits for no guest
)
app.register_install_completion_command()
errors = Console(stderr=True)
out = Console()

Flags = Annotated[Options | None, Parameter(name="*")]


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
    chosen, _ = config.load(_given(options))
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


def _given(options: Options | None) -> dict[str, Any]:
    if options is None:
        return {}
    given = {name: getattr(options, name) for name in options.model_fields_set}
    return {
        name: _split(value) if isinstance(value, tuple) else value for name, value in given.items()
    }


def _split(values: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(part for value in values for part in value.split(",") if part)


def _grade(paths: Sequence[str], options: Options, shown: str) -> int:
    from grader.report.folder import RunFolder
    from grader.report.summary import summarise

    folder = RunFolder(options.out)
    with folder.claimed():
        outcome = _run(folder, paths, options, quiet=shown == "none")
        changed = folder.settle(outcome.samples, () if options.only else paths)
        if outcome.graded or changed or not folder.indexed():
            folder.write_index()
    summary = summarise(folder.rows.lines(outcome.samples))
    if shown == "json":
        for line in folder.rows.lines(outcome.samples):
            sys.stdout.write(f"{line}\n")
    elif shown == "github":
        from grader.report import github

        sys.stdout.write(github.render(list(folder.reviews(outcome.samples))))
    elif shown == "table":
        _summary(summary, outcome.resumed, options.out)
    return _exit_code(summary, options)


def _run(folder: RunFolder, paths: Sequence[str], options: Options, *, quiet: bool) -> Outcome:
    import fnmatch

    from grader import schedule
    from grader.ingest import read_samples
    from grader.progress import Progress

    seed = folder.seed(options.seed, secrets.randbits(62))
    found = read_samples(paths, sys.stdin.buffer)  # before anything is prepared: it may be nothing
    with Progress(errors, quiet=quiet) as progress:
        workers = _workers(options, seed, progress.preparing)
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


def _workers(options: Options, seed: int, preparing: Callable[[str], None]) -> Workers:
    if options.ray:
        from grader.cluster import connect

        preparing("joining the cluster")
        try:
            return connect(options, seed)
        finally:
            preparing("")
    from grader import pipeline, schedule

    return schedule.Local(pipeline.open_workshop(options, Store(options.cache), seed, preparing))


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
            escape_markup(line.sample),
            line.status,
            str(line.errors or ""),
            "passes" if line.mended else "",
            escape_markup(line.sentence),
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
    out.print(escape_markup(str(folder / "README.md")))


@app.command
def explain(code: str) -> int:
    """Explain a rule: what it finds, why it matters, how to mend it."""
    import difflib

    from rich.markdown import Markdown

    from grader.rules import all_rules
    from grader.rules.page import page

    rules = all_rules()
    rule = rules.get(code.upper()) or next(
        (item for item in rules.values() if item.name == code), None
    )
    if rule is None:
        near = difflib.get_close_matches(code.upper(), rules, n=1)
        raise UsageError(f"no rule {code}", f"did you mean {near[0]}?" if near else "see: rules")
    text = page(rule)
    out.print(Markdown(text) if out.is_terminal else escape_markup(text))
    return GRADED


@app.command
def rules() -> int:
    """List all rules."""
    from grader.rules import all_rules

    for rule in sorted(all_rules().values(), key=lambda rule: rule.code):
        out.print(f"{rule.code}  {rule.severity:8} {rule.name}", highlight=False)
    return GRADED


@app.command
def tasks(
    *,
    audit: Path | None = None,
    coverage: Path | None = None,
    unsafe_no_sandbox: bool = False,
) -> int:
    """List the built-in tasks, or say something of each problem below a folder.

    Parameters
    ----------
    audit
        A problem file, or a folder of them: a table of what zeros, a constant, the input, a skipped
        part, a half-precision copy and the answer to other inputs would get.
    coverage
        List the problem files below this folder instead, with the families of the kernels that their
        reference-fixed program consists of, or why there is none.
    unsafe_no_sandbox
        Run the problems' own text without isolation where no form of it holds (with audit).

    """
    if coverage is not None:
        return _coverage(coverage)
    from grader.tasks import builtin_tasks

    if audit is not None:
        return _audit(audit, unsafe=unsafe_no_sandbox)
    for name, task in sorted(builtin_tasks().items()):
        out.print(f"{name:24} {escape_markup(task.title)}", highlight=False)
    return GRADED


def _coverage(folder: Path) -> int:
    from grader import judge, sandbox
    from grader.repair.coverage import coverage

    form, limits = sandbox.strongest(), sandbox.Limits()
    rows = []
    for row in coverage(folder, lambda reference: judge.trace(reference, form, limits)):
        rows.append(row)
        words = " + ".join(row.families) if row.families else f"not covered: {row.reason}"
        out.print(
            f"{escape_markup(row.path.stem):72} {escape_markup(words)}",
            highlight=False,
            soft_wrap=True,
        )
    covered = sum(1 for row in rows if row.families)
    out.print(f"{covered} of {len(rows)} problems covered", highlight=False)
    return GRADED


def _audit(folder: Path, *, unsafe: bool) -> int:
    from grader.judge.survey import PROGRAMS, survey
    from grader.sandbox import Limits, strongest

    sys.stdout.write(
        f"| problem | {' | '.join(PROGRAMS)} | weak |\n|{'---|' * (len(PROGRAMS) + 2)}\n"
    )
    for item in survey(folder, strongest(unsafe=unsafe), Limits()):
        said = [item.cell(program) for program in PROGRAMS]
        cells = [item.name, *said, item.note or "; ".join(item.weak)]
        sys.stdout.write(f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |\n")
        sys.stdout.flush()
    return GRADED


@app.command(name="config")
def show_config(*, options: Flags = None) -> int:
    """Show each option's value and where it comes from."""
    _, settings = config.load(_given(options))
    for setting in settings:
        out.print(
            f"{setting.name.replace('_', '-'):20} {escape_markup(setting.value):24} {setting.origin}",
            highlight=False,
        )
    return GRADED


@app.command
def report(run: Path) -> int:
    """Render a run folder's reports again, without running anything.

    Parameters
    ----------
    run
        A folder that a grading wrote.

    """
    from grader.report.folder import RunFolder

    if not (run / "data").is_dir():
        raise UsageError(f"{run} is not a run folder", "name the folder given as --out")
    folder = RunFolder(run)
    with folder.claimed():
        for review in folder.reviews():
            folder.render(review)
        count = len(folder.write_index())
    out.print(f"{count} reviews rendered in {escape_markup(str(run))}")
    return GRADED


@app.command
def compare(before: Path, after: Path, *, fail_on: Literal["regression", "never"] = "never") -> int:
    """Compare two run folders, paired by sample.

    Parameters
    ----------
    before
        The older run folder.
    after
        The newer run folder.
    fail_on
        Exit with 1 when a sample that was right is wrong now.

    """
    from grader.compare import compare as compared
    from grader.report import moved
    from grader.report.folder import RunFolder

    result = compared(RunFolder(before).reviews(), RunFolder(after).reviews())
    sys.stdout.write(moved.render(result))
    return GATE if fail_on == "regression" and result.count("newly wrong") else GRADED


@app.command
def score(run: Path) -> int:
    """Print a run's scores as JSON: correctness, fast_p, pass@k, speed-up, each with its interval.

    Parameters
    ----------
    run
        A folder that a grading wrote.

    """
    from grader.report.folder import RunFolder
    from grader.stats import scores

    sys.stdout.write(scores(RunFolder(run).reviews()).model_dump_json(indent=2) + "\n")
    return GRADED


@app.command
def kernelbench(run: Path, *, own_tolerance: bool = False) -> int:
    """Print a run as KernelBench's own eval_results.json.

    Parameters
    ----------
    run
        A folder that a grading wrote, of samples with KernelBench's file names.
    own_tolerance
        Judge by KernelBench's tolerance instead of ours.

    """
    from grader.report import kernelbench as format_
    from grader.report.folder import RunFolder

    sys.stdout.write(format_.render(RunFolder(run).reviews(), own_tolerance=own_tolerance))
    return GRADED


@app.command
def show(review: Path) -> int:
    """Show a review in the terminal."""
    from rich.markdown import Markdown

    if not review.is_file():
        raise UsageError(f"no review at {review}", "name a .md file of a run folder")
    out.print(Markdown(review.read_text("utf-8", "replace")))
    return GRADED


@app.command(name="serve")
def serve_rewards(
    *,
    options: Flags = None,
    host: str = "127.0.0.1",
    port: int = 8770,
    queue: int = 256,
    token_file: Path | None = None,
) -> int:
    """Answer a training loop's requests over HTTP: POST /grade gives a reward.

    Parameters
    ----------
    options
        What may be set for a run.
    host
        Address to listen on.
    port
        Port to listen on.
    queue
        Requests that may wait; what comes beyond is told to come again.
    token_file
        File with the token that requests must carry; without it one is made and printed.

    """
    try:
        from grader.serve import serve
    except ImportError as error:
        raise UsageError(
            f"{error.name} is not installed", "install it: pip install 'kernel-grader[serve]'"
        ) from error
    from grader.reward import Grader

    token = token_file.read_text("utf-8").strip() if token_file else secrets.token_urlsafe(24)
    if not token:
        raise UsageError(f"{token_file} is empty", "write the token into it")
    chosen, _ = config.load(_given(options))
    with Grader(chosen) as grader:
        shown = "" if token_file else f", token {token}"
        errors.print(escape_markup(f"listening on http://{host}:{port}{shown}"), soft_wrap=True)
        serve(grader, token, host=host, port=port, queue=queue)
    return GRADED


@app.command
def cache(*, clear: bool = False, folder: Path | None = None) -> int:
    """Show what the store holds, or clear it.

    Parameters
    ----------
    clear
        Delete all of it.
    folder
        The store's folder, where it isn't the user's cache folder.

    """
    store = Store(folder)
    if clear:
        store.clear()
    for kind, (count, size) in sorted(store.usage().items()):
        out.print(f"{kind:12} {count:8} entries {size / 1e6:10.1f} MB", highlight=False)
    out.print(escape_markup(str(store.root)))
    return GRADED


def _doctor(options: Options) -> int:
    from grader.doctor import examine

    table = Table(box=None, pad_edge=False)
    for heading in ("what", "state", "found", "what it costs, what helps"):
        table.add_column(heading)
    for item in examine(options):
        table.add_row(
            item.what,
            "ok" if item.ok else "missing",
            escape_markup(item.found),
            escape_markup(item.advice),
        )
    out.print(table)
    return GRADED


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program; return its exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
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
        errors.print(f"[red]error:[/red] {escape_markup(str(error))}")
        return USAGE
    except GraderError as error:
        errors.print(f"[red]grader error:[/red] {escape_markup(str(error))}")
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
