"""The rules, one a file, in a folder a family; they know no device and not each other."""

from grader.records import Context
from grader.rules.engine import review_text
from grader.rules.merge import is_caused, is_explained
from grader.rules.registry import all_rules
from grader.rules.rule import Example, Rule

__all__ = [
    "Context",
    "Example",
    "Rule",
    "all_rules",
    "is_caused",
    "is_explained",
    "review_text",
]
