"""The rules, one file each, in one folder for each family; they know no device and not each other.

Common names for writing rules are imported from here, also by plug-ins.
"""

from grader.records import Context, Edit, Evidence, Finding, Fix, Place, Severity
from grader.rules.merge import is_caused, is_explained
from grader.rules.page_file import rule_of
from grader.rules.registry import all_rules
from grader.rules.rule import Rule
from grader.source import Source, Unit
from grader.source.code_edits import fix

__all__ = [
    "Context",
    "Edit",
    "Evidence",
    "Finding",
    "Fix",
    "Place",
    "Rule",
    "Severity",
    "Source",
    "Unit",
    "all_rules",
    "fix",
    "is_caused",
    "is_explained",
    "rule_of",
]
