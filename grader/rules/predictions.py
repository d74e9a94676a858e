"""What evidence shows what a finding predicts of a kernel."""

from collections.abc import Mapping

from grader.records import Prediction
from grader.records.observed import GROUPS

_GROUPS: Mapping[Prediction, tuple[str, ...]] = {
    "launch-fails": ("launch",),
    "traps": ("misaligned", "host-memory", "host-access", "stop", "oob"),
    "out-of-bounds": ("oob", "shared-oob"),
    "race": ("race", "race-volatile", "global-race"),
    "unwritten-read": ("uninit", "uninit-local", "uninit-global", "unwritten"),
    "barrier": ("divergence", "exited", "grid", "shuffle", "endless"),
    "writes-input": ("input-written",),
}
CODES: Mapping[Prediction, frozenset[str]] = {
    prediction: frozenset().union(*(GROUPS[group] for group in groups))
    for prediction, groups in _GROUPS.items()
}
"""Codes of evidence that show a prediction; the others show in the build, in Python, in the values."""
BY_HARDWARE: frozenset[Prediction] = frozenset({"launch-fails", "traps", "writes-input"})
"""What a plain run on a GPU shows as well; the rest only the simulator sees, or a sanitizer."""
