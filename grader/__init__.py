"""Grades and reviews CUDA and Triton kernels that language models wrote: `from grader import grade`."""

TYPE_CHECKING = False  # as type checkers read it; `import grader` itself loads nothing
if TYPE_CHECKING:
    from grader.api import Graded, grade

__all__ = ["Graded", "grade"]


def __getattr__(name: str) -> object:
    """Load the Python interface when it's first asked for."""
    if name not in __all__:
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    from grader import api

    return getattr(api, name)
