"""Names memory allocated by host code after the kernel's pointer parameter."""

from __future__ import annotations

import re

from grader.source import Source

_ARGUMENT = re.compile(r"\bargument (\d{1,3})\b")


def with_parameter_names(text: str, kernel: str, source: Source) -> str:
    """Replace a parameter's number by its name: `losses` for `argument 3`."""
    plain = re.sub(r"[<(].*", "", kernel).rsplit("::", 1)[-1]
    found = (one for unit in source.cuda for one in unit.kernels if one.name == plain)
    parameters = next((one.parameters for one in found), ())

    def named_argument(match: re.Match[str]) -> str:
        at = int(match[1]) - 1
        return parameters[at].name if at < len(parameters) else match[0]

    return _ARGUMENT.sub(named_argument, text)
