"""Fixes, reference kernels by family, and what a model proposes: nothing is shown that has not passed."""

from grader.repair.candidates import screening
from grader.repair.compose import UncoveredError
from grader.repair.locate import located
from grader.repair.model import Model, ModelError, model_repair, summarise
from grader.repair.reference import Fixed, composed, reference_code, reference_fixed
from grader.repair.search import find_repair
from grader.repair.wrong import needs_fix

__all__ = [
    "Fixed",
    "Model",
    "ModelError",
    "UncoveredError",
    "composed",
    "find_repair",
    "located",
    "model_repair",
    "needs_fix",
    "reference_code",
    "reference_fixed",
    "screening",
    "summarise",
]
