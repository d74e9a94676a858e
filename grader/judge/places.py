"""Places of elements of a result in neutral words: rows from an index on, the outer columns, a few."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from grader.judge.inputs import Array
from grader.judge.regions import name_of_dim, regions
from grader.records import Evidence, WrongRegion


def told_places(mask: Array) -> str:
    """Return in words where a mask holds, and its first place; empty where it holds everywhere."""
    if mask.all() or not mask.any():
        return ""
    first = [int(i) for i in np.argwhere(mask)[0]]
    return ", ".join([*_regions(mask), f"the first at {first}"])


def _regions(mask: Array) -> Iterator[str]:
    for found in regions(mask, _region):
        region = found.details
        if isinstance(region, WrongRegion) and region.dim is not None:
            yield f"all in {_say_region(found.code, region, name_of_dim(mask.ndim, region.dim))}"


def _region(code: str, text: str, details: WrongRegion) -> Evidence:
    return Evidence(kind="mismatch", code=code, text=text, details=details)


def _say_region(code: str, region: WrongRegion, name: str) -> str:
    if code == "from-index-on":
        return f"{name} from {region.first_wrong} on of {region.size}"
    if code == "up-to-index":
        return f"the first {region.first_right} of {region.size} {name}"
    if code == "borders":
        return f"the outer {name}: before {region.first_right} and after {region.last_right} of {region.size}"
    listed = ", ".join(map(str, region.wrong[:4])) + (", ..." if len(region.wrong) > 4 else "")
    if code == "periodic":
        return f"{name} that are {listed} modulo {region.period}"
    return f"{name} {listed}"
