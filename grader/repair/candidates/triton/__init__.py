"""Small changes of a Triton program: of its kernels' Python, and of the host code that launches them."""

MOST = 150
"""Changes of a Triton program that are tried."""
ROUND = 15
"""Changes of a Triton program that are run before the best are looked at: each compiles its own kernels."""
LONGER = 1.5
"""How many times as long a search may take as where all changes share one build."""

__all__ = ["LONGER", "MOST", "ROUND"]
