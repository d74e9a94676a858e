"""Operations that a task takes and a program has nowhere: a change that brings one in is likelier than others."""

from __future__ import annotations

import re
from collections.abc import Mapping

_NORMS = r"(?:Layer|Group|Batch|Instance|RMS)Norm|(?:layer|group|batch|instance|rms)_norm"
TAKEN: Mapping[str, str] = {
    "sqrt": rf"sqrt|\bnorm\(|\bstd\(|\*\* ?-?0\.5|{_NORMS}|cosine_similarity|CosineSimilarity|riplet_?[Mm]argin|scaled_dot_product|cdist|pairwise_distance",
    "exp": r"\bexp\(|softmax|Softmax|sigmoid|Sigmoid|silu|SiLU|logsumexp|cross_entropy|CrossEntropy|softplus|Softplus|elu\(|scaled_dot_product|tanh",
    "log": r"\blog\w*\(|log_softmax|LogSoftmax|cross_entropy|CrossEntropy|kl_div|KLDiv|softplus|Softplus",
    "abs": r"\babs\(|l1_loss|L1Loss|p=1\b|Softsign|softsign",
    "maximum": r"relu|ReLU|clamp|hinge|riplet_?[Mm]argin|hardtanh|Hardtanh|hardsigmoid|Hardsigmoid",
    "division": rf"\bmean\(|/|{_NORMS}|[Ll]oss\(|softmax|Softmax|AvgPool|avg_pool|scaled_dot_product|cross_entropy|kl_div|\*\* ?-",
}
"""What says in a reference that an operation is taken, by torch's names."""
WRITTEN: Mapping[str, str] = {
    "sqrt": r"sqrt|\*\* ?-?0\.5|norm\(",
    "exp": r"exp2?\(|sigmoid|softmax|tanh|erf",
    "log": r"log(?:2|1p)?\(|softmax",
    "abs": r"abs\(",
    "maximum": r"maximum|where|relu|clamp|max\(",
    "division": r"(?<!/)/(?!/)|mean|rsqrt|softmax|div_rn|fdiv",
}
"""The same as programs write it."""


def lacking(reference: str, code: str) -> frozenset[str]:
    """Return the operations that a reference takes and a program doesn't write anywhere."""
    return frozenset(
        name
        for name, taken in TAKEN.items()
        if re.search(taken, reference) and not re.search(WRITTEN[name], code)
    )


def brings_in(old: str, new: str, operations: frozenset[str]) -> bool:
    """Whether a change of a text brings in one of some operations."""
    return any(
        re.search(WRITTEN[name], new) and not re.search(WRITTEN[name], old) for name in operations
    )
