"""Candidates: small changes of a program, all tried in one build, to fix a wrong value that no rule explains.

Every change becomes an alternative in one woven program that a number selects at run time (mutant schemata:
Untch, Offutt and Harrold, 1993), so that hundreds of them cost one build and one short run each. Those that
answer right everywhere are proposed as plain edits, which are then evaluated like anything else.
"""

from grader.repair.candidates.rounds import Guesses, guess
from grader.repair.candidates.screen import Screen, screen_of

__all__ = ["Guesses", "Screen", "guess", "screen_of"]
