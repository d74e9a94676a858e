"""The rules of torch's operators in the exact algebra, of all three kinds."""

from grader.guest import exact_choices, exact_layout
from grader.guest.exact_arithmetic import POINTWISE
from grader.guest.exact_table import RULES

__all__ = ["POINTWISE", "RULES", "exact_choices", "exact_layout"]
