"""Attaches fixes to findings, between the rules' detection and the merging of findings."""

from __future__ import annotations

import importlib
import logging
import pkgutil
from functools import cache
from pathlib import Path

from grader.records import Context, Finding, Fix
from grader.repair.fixes.maker import FixMaker
from grader.rules.deadline import TooSlowError, deadline
from grader.rules.engine import TIME_LIMIT, Inspection
from grader.source import Source

logger = logging.getLogger(__name__)


def attach(inspection: Inspection, source: Source, context: Context) -> Inspection:
    """Return the findings with the fixes of every maker for them, after the rule's own.

    Never raises: a maker that fails leaves the finding without its fixes, and is named in `trouble`.
    """
    found = list(inspection.findings)
    trouble = list(inspection.trouble)
    try:
        with deadline(TIME_LIMIT) as late:
            for index, finding in enumerate(found):
                if late():
                    break
                found[index] = _with_fixes(finding, source, context, trouble)
    except TooSlowError:
        trouble.append("fixes were not all made: this text takes too long")
    return Inspection(tuple(found), tuple(trouble))


def _with_fixes(finding: Finding, source: Source, context: Context, trouble: list[str]) -> Finding:
    """Return the finding with the fixes of its makers, those with the same edits once."""
    made: dict[object, Fix] = {one.edits: one for one in finding.fixes}
    for maker in _makers_by_code().get(finding.rule, ()):
        try:
            for fix in maker.propose(finding, source, context):
                made.setdefault(fix.edits, fix)
        except TooSlowError:
            raise
        except Exception as error:
            name = maker.propose.__module__
            logger.exception("%s failed on a finding of %s", name, finding.rule)
            trouble.append(f"fixes of {finding.rule} failed: {type(error).__name__}: {error}")
    return finding.model_copy(update={"fixes": tuple(made.values())})


@cache
def all_makers() -> tuple[FixMaker, ...]:
    """Return every kind of fix of this package: the makers that its modules name."""
    paths = pkgutil.walk_packages([str(Path(__file__).parent)], f"{__package__}.")
    modules = (importlib.import_module(info.name) for info in paths)
    named = (vars(module).values() for module in modules)
    return tuple(one for values in named for one in values if isinstance(one, FixMaker))


@cache
def _makers_by_code() -> dict[str, list[FixMaker]]:
    """Return the kinds of fixes of each rule, in their order."""
    by_code: dict[str, list[FixMaker]] = {}
    for maker in sorted(all_makers(), key=lambda one: one.order):
        for code in maker.codes:
            by_code.setdefault(code, []).append(maker)
    return by_code
