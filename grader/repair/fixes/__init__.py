"""Fixes of findings, one file a kind; a file's `FixMaker` says of which rules' findings it is, and proposes them.

A fix that is a few lines and that only one rule has stands beside that rule; all others are here.
"""

from grader.repair.fixes.attach import all_makers, attach
from grader.repair.fixes.maker import FixMaker

__all__ = ["FixMaker", "all_makers", "attach"]
