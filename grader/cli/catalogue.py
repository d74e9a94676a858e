"""Commands that list rules, tasks and options."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from rich.markup import escape as escape_markup

from grader import config
from grader.cli.app import GRADED, Flags, app, errors, given_options, out, plain
from grader.errors import UsageError
from grader.records import Evaluation, Submission, Task


@app.command
def explain(code: str) -> int:
    """Explain a rule: what it finds, why it matters, how to fix it."""
    import difflib

    from rich.markdown import Markdown

    from grader.rules.page import page
    from grader.rules.registry import all_rules, rule

    try:
        found = rule(code)
    except KeyError:
        near = difflib.get_close_matches(code.upper(), all_rules(), n=1)
        raise UsageError(
            f"no rule {code}", f"did you mean {near[0]}?" if near else "see: rules"
        ) from None
    text = page(found)
    out.print(Markdown(text) if out.is_terminal else escape_markup(text), soft_wrap=True)
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
    audit: str | None = None,
    coverage: Path | None = None,
    verify: bool = False,
    unsafe_no_sandbox: bool = False,
) -> int:
    """List the built-in tasks by kind, with the types of their inputs, or audit the problems in a folder.

    Parameters
    ----------
    audit
        A problem file, a folder of them, or built-in tasks by name (`'*'` for all): a table of the verdicts that wrong
        answers would get at the sizes that decide: zeros, a constant, the input, a half-precision copy, and the
        reference with other inputs or weights, swapped dims or a parameter left out.
    coverage
        List the problem files below this folder instead, with the families of the kernels that their
        reference-fixed program consists of, or why there is none.
    verify
        Evaluate those programs too (with coverage). Finished evaluations are kept: an interrupted run resumes where it
        stopped.
    unsafe_no_sandbox
        Run the problems' own text without isolation where no form of it holds (with audit).

    """
    if coverage is not None:
        return _coverage(coverage, verify=verify)
    if audit is not None:
        return _audit(audit, unsafe=unsafe_no_sandbox)
    from grader.tasks.kinds import by_kind, types_of

    for kind, some in by_kind().items():
        out.print(f"\n{kind}", highlight=False, style="bold")
        for task in (entry.task for entry in some):
            told = f"  {task.name:26} {types_of(task):30} {plain(task.title)}"
            out.print(told, highlight=False, soft_wrap=True)
    return GRADED


def _coverage(folder: Path, *, verify: bool) -> int:
    from grader import sandbox
    from grader.repair.coverage import cover_problem, problems

    form = sandbox.strongest()
    judged = _verifier() if verify else None
    rows = []
    found = list(problems(folder))
    if not found:
        raise UsageError(f"no problem files in {folder}", "they define Model and get_inputs")
    for number, (path, task) in enumerate(found, start=1):
        errors.print(f"{number} of {len(found)}: {escape_markup(path.stem)}", highlight=False)
        row = cover_problem(path, task, form, judged)
        rows.append(row)
        out.print(
            f"{plain(row.path.stem):72} {plain(row.said)}",
            highlight=False,
            soft_wrap=True,
        )
    written = sum(1 for row in rows if row.families)
    right = sum(1 for row in rows if row.verdict == "correct")
    told = f", {right} with a kernel that passed" if verify else ""
    out.print(f"{written} of {len(rows)} problems covered{told}", highlight=False)
    return GRADED


def _verifier() -> Callable[[Task, Submission], Evaluation]:
    from grader import pipeline
    from grader.pipeline.evaluation import evaluate_draft
    from grader.store import Store

    store = Store()
    shop = pipeline.open_context(config.Options(), store, store.seed("coverage"))
    return lambda task, program: evaluate_draft(shop, program, task)


def _audit(audited: str, *, unsafe: bool) -> int:
    from grader.execution.audit import KINDS
    from grader.execution.folder_audit import audit_builtin, audit_folder
    from grader.report.escape import one_line
    from grader.sandbox import Limits, strongest

    form, path = strongest(unsafe=unsafe), Path(audited)
    sys.stdout.write(f"| problem | {' | '.join(KINDS)} | weak |\n|{'---|' * (len(KINDS) + 2)}\n")

    def begun(number: int, total: int, name: str) -> None:
        errors.print(f"{number} of {total}: {plain(name)}", highlight=False, soft_wrap=True)

    found = (
        audit_folder(path, form, Limits(), begun)
        if path.exists()
        else audit_builtin(audited, form, Limits(), begun)
    )
    for item in found:
        said = [item.cell(program) for program in KINDS]
        cells = [item.name, *said, item.note or "; ".join(item.weak)]
        sys.stdout.write(f"| {' | '.join(one_line(cell).replace('|', '/') for cell in cells)} |\n")
        sys.stdout.flush()
    return GRADED


@app.command(name="config")
def show_config(*, options: Flags = None) -> int:
    """Show each option's value and where it comes from."""
    _, settings = config.load(given_options(options))
    for setting in settings:
        out.print(
            f"{setting.name.replace('_', '-'):20} {plain(setting.value):24} {setting.origin}",
            highlight=False,
        )
    return GRADED
