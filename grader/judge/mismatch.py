"""How an output differs, in words and numbers."""

from __future__ import annotations

from typing import Literal

import numpy as np

from grader.judge.patterns import patterns
from grader.judge.wrong import Wrong
from grader.judge.wrong_map import wrong_map
from grader.records import Mismatch


def mismatch_of(wrong: Wrong) -> Mismatch:
    """Return how many elements are wrong, the worst of them, and what they have in common."""
    found = patterns(wrong)
    index, value, expected, error = _worst(wrong)
    fraction = float(wrong.mask.mean())
    count = int(wrong.mask.sum())
    say = (
        "every element is wrong"
        if count == wrong.mask.size
        else (f"{count} of {wrong.mask.size} elements are wrong ({_percent(fraction)})")
    )
    place = f" at {list(index)}" if index else ""
    text = f"{say}; the worst{place} is {value:.6g} where the reference has {expected:.6g}"
    if found:
        text = f"{text}: {'; '.join(pattern.text for pattern in found[:2])}"
    codes = {pattern.code for pattern in found}
    kind: Literal["unwritten", "nonfinite", "values"] = "values"
    if "unwritten" in codes:
        kind = "unwritten"
    elif codes & {"nan", "outside", "infinite"}:
        kind = "nonfinite"
    return Mismatch(
        kind=kind,
        text=text,
        fraction=fraction,
        max_error=error,
        worst_index=index,
        worst_value=value,
        worst_reference=expected,
        patterns=found,
        where=wrong_map(wrong.mask),
    )


def _percent(fraction: float) -> str:
    """Return it with three digits; what is not all never reads 100%."""
    return f"{100 * fraction:.3g}%" if fraction < 0.9995 else "nearly all"


def _worst(wrong: Wrong) -> tuple[tuple[int, ...], float, float, float]:
    """Return index, value, reference value and error of the worst element; a NaN is the worst."""
    flat = np.flatnonzero(wrong.mask)
    a = wrong.actual.reshape(-1)[flat].astype(np.float64)
    r = wrong.exact.reshape(-1)[flat].astype(np.float64)
    with np.errstate(all="ignore"):
        error = np.nan_to_num(np.abs(a - r), nan=np.inf, posinf=np.inf)
    at = int(np.argmax(error))
    index = tuple(int(i) for i in np.unravel_index(int(flat[at]), wrong.mask.shape))
    return index, float(a[at]), float(r[at]), float(error[at])
