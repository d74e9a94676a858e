"""Reference-fixed kernels by family, as a textbook shows them: one template each, filled with a task's parameters."""

from grader.repair.families.plain import Names, plain_kernel
from grader.repair.families.render import render

__all__ = ["Names", "plain_kernel", "render"]
