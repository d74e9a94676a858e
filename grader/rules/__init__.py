"""The rules, one a file, in a folder a family; they know no device and not each other."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from grader.records import Context
from grader.rules.rule import Example, Rule

if TYPE_CHECKING:
    from grader.records import Finding
    from grader.source import Source

__all__ = ["Context", "Example", "Rule", "all_rules", "is_explained", "review_text"]


def all_rules() -> Mapping[str, Rule]:
    """Return every rule by its code; see `grader.rules.registry`."""
    from grader.rules import registry

    return registry.all_rules()


def is_explained(findings: Collection[Finding]) -> bool:
    """Say whether a proven finding explains wrong results; see `grader.rules.merge`."""
    from grader.rules import merge

    return merge.is_explained(findings)


def is_caused(findings: Collection[Finding], wrong: Collection[str] = ()) -> bool:
    """Say whether a proven finding is the cause of wrong results; see `grader.rules.merge`."""
    from grader.rules import merge

    return merge.is_caused(findings, wrong)


def review_text(
    source: Source, context: Context, select: Collection[str] = (), ignore: Collection[str] = ()
) -> tuple[Finding, ...]:
    """Return the findings about a submission; see `grader.rules.engine`."""
    from grader.rules import engine

    return engine.review_text(source, context, select, ignore)
