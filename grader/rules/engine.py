"""Runs the rules on a submission's text (`detect`), and merges findings of one defect (`settle`)."""

import logging
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from grader.languages import names_in
from grader.records import Context, Finding, Severity
from grader.rules.deadline import TooSlowError, deadline
from grader.rules.families import family_of
from grader.rules.idle import leave_out_idle
from grader.rules.merge import merge
from grader.rules.other_sizes import as_remarks
from grader.rules.refuted import weighed_by_runs
from grader.rules.registry import all_rules
from grader.rules.rule import Rule
from grader.source import Source

logger = logging.getLogger(__name__)
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")
TIME_LIMIT = 20.0
"""CPU seconds for all rules, after which the current one is ended and no other runs; usually a few hundredths."""


@dataclass(frozen=True)
class Inspection:
    """The rules' findings, and their own failures."""

    findings: tuple[Finding, ...]
    trouble: tuple[str, ...] = ()
    """One sentence for each rule that raised, and one if time ran out: the grader's own fault, never the sample's."""


def detect(
    source: Source, context: Context, select: Collection[str] = (), ignore: Collection[str] = ()
) -> Inspection:
    """Return each rule's own findings, the failed rules, and those that did not run for lack of time.

    `select` and `ignore` hold codes, prefixes of codes (`SYN`) or names of rules; no `select` means all. Never raises.
    """
    found: list[Finding] = []
    trouble: list[str] = []
    selected = taking_part(choose_rules(all_rules().values(), select, ignore), names_in(source))
    waiting = sorted(selected, key=lambda rule: not family_of(rule.code).first)
    try:
        with deadline(TIME_LIMIT) as late:
            while waiting and not late():
                _run_rule(waiting.pop(0), source, context, found, trouble)
    except TooSlowError:  # raised between two rules
        pass
    if waiting:
        code = waiting[0].code
        trouble.append(f"the rules from {code} on did not run: this text takes too long")
    return Inspection(tuple(sorted(found, key=lambda finding: finding.rule)), tuple(trouble))


def settle(inspection: Inspection, source: Source, context: Context) -> Inspection:
    """Weigh findings by evidence, and merge those of one defect.

    They are weighed before merging, since refuted findings and remarks explain nothing.
    """
    running = leave_out_idle(inspection.findings, source)
    weighed = tuple(weighed_by_runs(running, source, context, _certain_codes()))
    settled = as_remarks(merge(as_remarks(weighed, context)), context)
    return Inspection(tuple(sorted(settled, key=_rank)), inspection.trouble)


def _run_rule(
    rule: Rule, source: Source, context: Context, found: list[Finding], trouble: list[str]
) -> None:
    """Collect one rule's findings, or the reason of its failure."""
    try:
        found.extend(rule.check(source, context))
    except TooSlowError:
        trouble.append(f"rule {rule.code} was not finished: this text takes too long")
    except Exception as error:
        logger.exception("rule %s failed on a submission", rule.code)
        trouble.append(f"rule {rule.code} failed: {type(error).__name__}: {error}")


def choose_rules(
    rules: Iterable[Rule], select: Collection[str], ignore: Collection[str]
) -> tuple[Rule, ...]:
    """Return the rules that `select` names and `ignore` does not."""
    return tuple(
        rule
        for rule in rules
        if (not select or _is_named(rule, select)) and not _is_named(rule, ignore)
    )


def taking_part(rules: Iterable[Rule], languages: Collection[str]) -> tuple[Rule, ...]:
    """Return the rules that apply to programs in these languages.

    All rules apply where no language was recognised.
    """
    return tuple(
        rule
        for rule in rules
        if not rule.languages or not languages or {*rule.languages} & {*languages}
    )


def _certain_codes() -> frozenset[str]:
    """Return the codes of the rules that need no build and no run."""
    return frozenset(rule.code for rule in all_rules().values() if rule.certain_from_text)


def _is_named(rule: Rule, names: Collection[str]) -> bool:
    return any(
        rule.name == name or any(code.startswith(name.upper()) for code in rule.codes)
        for name in names
        if name
    )


def _rank(finding: Finding) -> tuple[int, bool, int, str]:
    """Return the sort key of findings: causes proven by runs first, then by line."""
    line = finding.place.line if finding.place else 0
    return (SEVERITIES.index(finding.severity), not finding.root_cause, line, finding.rule)
