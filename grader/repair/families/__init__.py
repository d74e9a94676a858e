"""Reference-fixed kernels by family: one template for each form, filled with a task's parameters."""

from grader.repair.families.kernels import Names, kernel_of_family, render

__all__ = ["Names", "kernel_of_family", "render"]
