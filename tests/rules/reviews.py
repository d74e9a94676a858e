"""Findings with all their fixes, as the examiner of the pipeline makes them, from a text and its context alone."""

from __future__ import annotations

from collections.abc import Collection

from grader.records import Context, Finding
from grader.repair.fixes import attach
from grader.rules import all_rules, engine
from grader.rules.engine import Inspection
from grader.source import Source


def review_text(
    source: Source, context: Context, select: Collection[str] = (), ignore: Collection[str] = ()
) -> tuple[Finding, ...]:
    """Return the findings about a submission with the fixes that the rules hold themselves."""
    return engine.settle(engine.detect(source, context, select, ignore), source, context).findings


def review_with_fixes(
    source: Source, context: Context, select: Collection[str] = (), ignore: Collection[str] = ()
) -> tuple[Finding, ...]:
    """Detect, attach fixes and settle."""
    detected = engine.detect(source, context, select, ignore)
    return engine.settle(attach(detected, source, context), source, context).findings


def detected_with_fixes(code: str, source: Source, context: Context) -> tuple[Finding, ...]:
    """Return what one rule finds by itself, with all fixes."""
    found = tuple(all_rules()[code].check(source, context))
    return attach(Inspection(found), source, context).findings
