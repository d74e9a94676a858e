"""The host's judgement: inputs, comparison, soundness, honesty, verdict. Pure functions that run no program."""

from grader.judge.compare import compare
from grader.judge.expected import Expected, Group, References, groups
from grader.judge.honesty import Suspicions, computing_operators, suspicions
from grader.judge.inputs import make_inputs
from grader.judge.own_weights import own_weights
from grader.judge.places import told_places
from grader.judge.side_effects import side_effects
from grader.judge.soundness import clean, in_keeping, proofs, proves_undefined
from grader.judge.tolerance import tolerance
from grader.judge.verdict import add_notes, verdict

__all__ = [
    "Expected",
    "Group",
    "References",
    "Suspicions",
    "add_notes",
    "clean",
    "compare",
    "computing_operators",
    "groups",
    "in_keeping",
    "make_inputs",
    "own_weights",
    "proofs",
    "proves_undefined",
    "side_effects",
    "suspicions",
    "told_places",
    "tolerance",
    "verdict",
]
