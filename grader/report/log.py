"""A build's log for a person: the tools' messages without their command lines."""

from __future__ import annotations

import re

_NOISE = re.compile(
    r"""^\[\d+/\d+\]\s            # ninja repeats each command
    |^/\S+/kg-(nvcc|g\+\+)\s      # and says it again where it failed
    |^ptxas\ info\s+:\ (Compile\ time|Compiling\ entry|Function\ properties|0\ bytes\ gmem)
    |^\s+0\ bytes\ stack\ frame,\ 0\ bytes\ spill\ stores,\ 0\ bytes\ spill\ loads
    |^kernel-grader:\ kernel\s
    |^Remark:\ The\ warnings\ can\ be\ suppressed
    |^ninja:\ build\ stopped
    |^\s*$""",
    re.VERBOSE,
)
MAX_COLUMNS = 300


def readable(log: str, lines: int = 40) -> str:
    """Return the log without commands, times and blank lines, at most about `lines` long."""
    kept = [line[:MAX_COLUMNS] for line in log.split("\n") if not _NOISE.match(line)]
    if len(kept) <= lines:
        return "\n".join(kept)
    head = lines // 2
    left = f"[... {len(kept) - 2 * head} lines left out ...]"
    return "\n".join((*kept[:head], left, *kept[-head:]))
