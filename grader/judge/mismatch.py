"""Description of a mismatch, in words and numbers."""

from __future__ import annotations

from typing import Literal

import numpy as np

from grader.judge.patterns import patterns
from grader.judge.wrong import Wrong
from grader.judge.wrong_map import wrong_map
from grader.records import (
    ContainerMismatch,
    CountMismatch,
    DeviceMismatch,
    DtypeMismatch,
    FormMismatch,
    Mismatch,
    MissingGradient,
    ShapeMismatch,
)


def mismatch_of(wrong: Wrong) -> Mismatch:
    """Return the number of wrong elements, the worst of them, and their common properties."""
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
    elif codes & {"nan", "outside", "unset", "infinite"}:
        kind = "nonfinite"
    return Mismatch(
        kind=kind,
        text=text,
        extent=say,
        fraction=fraction,
        max_error=error,
        worst_index=index,
        worst_value=value,
        worst_reference=expected,
        patterns=found,
        where=wrong_map(wrong.mask),
    )


def form_in_words(form: FormMismatch) -> str:
    """Return how a result's form differs, in one sentence without a full stop."""
    match form:
        case CountMismatch():
            return f"{form.got} tensors returned, {form.want} expected"
        case ContainerMismatch():
            return f"a {form.got} returned, a {form.want} expected"
        case MissingGradient(all=True):
            return (
                "no gradient came: for autograd the result depends on nothing that was asked (a kernel's result has a "
                "gradient only through a torch.autograd.Function, or a `backward` of the model)"
            )
        case MissingGradient():
            return f"no gradient of {form.of} came: backward returned None for it"
        case ShapeMismatch():
            return f"shape {_shape(form.got)} returned, {_shape(form.want)} expected"
        case DtypeMismatch():
            return f"{form.got} returned, {form.want} expected"
        case DeviceMismatch():
            return f"the result lies on {form.got}, and the reference's on {form.want}"


def _shape(shape: tuple[int, ...]) -> str:
    return f"({', '.join(map(str, shape))})"


def _percent(fraction: float) -> str:
    """Return a percentage with three digits; only 1 reads 100%."""
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
