"""Fixes, reference-fixed kernels by family, and a model's proposals; only programs that passed are shown."""

from grader.repair.candidates import screen_of
from grader.repair.compose import UncoveredError
from grader.repair.locate import locate_by_repairs
from grader.repair.model import Model, ModelError, model_repair, summarise
from grader.repair.reference import Fixed, compose_for_task, reference_code, reference_fixed
from grader.repair.search import find_repair
from grader.repair.wrong import asks_for_change, needs_fix

__all__ = [
    "Fixed",
    "Model",
    "ModelError",
    "UncoveredError",
    "asks_for_change",
    "compose_for_task",
    "find_repair",
    "locate_by_repairs",
    "model_repair",
    "needs_fix",
    "reference_code",
    "reference_fixed",
    "screen_of",
    "summarise",
]
