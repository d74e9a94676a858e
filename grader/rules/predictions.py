"""What a build or a run shows where a finding is right: each rule says it, and its page shows it."""

from collections.abc import Mapping

from grader.records import Prediction
from grader.records.observed import GROUPS

SENTENCES: Mapping[Prediction, str] = {
    "nothing": "nothing that a build or a run could take back.",
    "elsewhere": "nothing at the task's own sizes and values; it shows at others.",
    "build-fails": "the compiler, the linker or the loader refuses the program.",
    "raises": "Python raises when the program is imported, constructed or called.",
    "launch-fails": "CUDA refuses the launch.",
    "traps": "the kernel stops at this access or statement.",
    "out-of-bounds": "an access outside of the memory that the kernel was given.",
    "race": "two threads that access one cell without an order between them.",
    "unwritten-read": "memory that is read or returned before anything wrote it.",
    "barrier": "a barrier or an exchange of lanes that not all take part in that must.",
    "writes-input": "an input of the call that is changed after it.",
    "wrong-values": "results that differ from the reference's.",
    "no-launch": "no launch of these kernels.",
}
"""Each ends the sentence "What a run shows if it is right: ..."."""
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
