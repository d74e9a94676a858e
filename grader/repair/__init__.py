"""Mends, reference kernels by family, and what a model proposes: nothing is shown that has not passed."""

from grader.repair.reference import reference_code, reference_fixed
from grader.repair.search import mend

__all__ = ["mend", "reference_code", "reference_fixed"]
