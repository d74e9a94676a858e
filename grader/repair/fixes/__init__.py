"""Fixes of findings, one file for each kind; a file's `FixMaker` names its rules and proposes the fixes.

A short fix of only one rule is in that rule's file; all others are here.
"""

from grader.repair.fixes.attach import all_makers, attach
from grader.repair.fixes.maker import FixMaker

__all__ = ["FixMaker", "all_makers", "attach"]
