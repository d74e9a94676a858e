"""Calls of ready-made libraries in CUDA and C++ code."""

import re
from collections.abc import Iterator

from grader.source import Unit
from grader.source.cpp import Call

LIBRARY = re.compile(r"^(?:cublas|cudnn|cusparse|cusolver|cufft)[A-Z]\w*$|^cublasLt\w+$")
NAMESPACES = {"cutlass": "CUTLASS", "thrust": "Thrust", "cudnn_frontend": "cuDNN", "flashinfer": ""}
UNLOGGED = ("at::redispatch::", "at::native::", "at::cpu::", "at::cuda::blas::")
"""torch's operators below the place where calls are logged."""
HANDLING = ("Create", "Destroy", "SetStream", "SetMathMode")
"""Suffixes of calls that compute nothing."""


def library_calls(unit: Unit) -> Iterator[tuple[str, Call]]:
    """Yield the calls that compute something, each with its library's name, in the order of the text."""
    for call in unit.calls:
        space = call.qualified.split("::")[0]
        library = NAMESPACES.get(space, space) if "::" in call.qualified else ""
        if LIBRARY.match(call.name):
            library = re.split(r"[A-Z]", call.name)[0]
        elif call.qualified.startswith(UNLOGGED):
            library = "torch"
        elif space not in NAMESPACES:
            continue
        if not call.name.endswith(HANDLING):
            yield library, call
