"""The host's judgement: inputs, reference, comparison, verdict."""

from grader.judge.audit import AuditRow, audit, weaknesses
from grader.judge.compare import compare
from grader.judge.conduct import conduct
from grader.judge.describe import describe
from grader.judge.expected import Expected, Group, References, groups
from grader.judge.honesty import Suspicions, computing, suspicions
from grader.judge.inputs import make_inputs
from grader.judge.own_weights import own_weights
from grader.judge.reference import reference
from grader.judge.soundness import in_keeping, proofs, undefined
from grader.judge.tolerance import tolerance
from grader.judge.trace import trace
from grader.judge.verdict import noted, verdict

__all__ = [
    "AuditRow",
    "Expected",
    "Group",
    "References",
    "Suspicions",
    "audit",
    "compare",
    "computing",
    "conduct",
    "describe",
    "groups",
    "in_keeping",
    "make_inputs",
    "noted",
    "own_weights",
    "proofs",
    "reference",
    "suspicions",
    "tolerance",
    "trace",
    "undefined",
    "verdict",
    "weaknesses",
]
