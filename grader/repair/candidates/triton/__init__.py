"""Small changes of a Triton program: of its kernels' Python, and of the host code that launches them."""

from grader.repair.candidates.triton.order import LONGER, MOST, ROUND, triton_changes
from grader.repair.candidates.triton.weave import weave_texts

__all__ = ["LONGER", "MOST", "ROUND", "triton_changes", "weave_texts"]
