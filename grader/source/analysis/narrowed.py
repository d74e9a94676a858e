"""Places where a program casts its values to a lower precision."""

import re

from grader.source import Source

NARROWS = re.compile(
    r"torch\.(float16|half|bfloat16)\b|\.(half|bfloat16)\(\)|\bk(Half|BFloat16)\b"
    r"|\b__floats?2(half|bfloat16)\w*|\b__float_to_tf32\b|\bprecision::tf32\b|\bcvt\.rna\.tf32\b"
    r"|\bCUBLAS_COMPUTE_32F_FAST_\w+|\bCUBLAS_TF32_TENSOR_OP_MATH\b|\bsetAllowTF32\w*|\ballow_tf32\b"
)
ASKS = re.compile(r"==|!=|\bcase\b|AT_DISPATCH|CHECK|\bassert\b|\bFalse\b|\bfalse\b")
"""Pattern of a line that only tests for the type, lists it beside others, or turns it off."""
COMMENT = re.compile(r"//|^\s*#(?!\s*(include|define|pragma))|\s#\s")


def narrowed_offsets(source: Source) -> tuple[int, int] | None:
    """Return the offsets of the first such word; None if there is none."""
    start = 0
    for line in source.code.splitlines(keepends=True):
        found = NARROWS.search(line)
        if found and not ASKS.search(line) and not COMMENT.search(line[: found.start()]):
            return start + found.start(), start + found.end()
        start += len(line)
    return None
