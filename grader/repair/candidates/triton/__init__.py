"""Small changes of a Triton program: of its kernels' Python, and of the host code that launches them."""

MOST = 150
"""Changes of a Triton program that are tried."""
ROUND = 15
"""Changes of a Triton program that are run before the best are looked at: each compiles its own kernels."""
LONGER = 1.5
"""Factor on the time limit of a search, compared with one where all changes share a build."""

__all__ = ["LONGER", "MOST", "ROUND"]
