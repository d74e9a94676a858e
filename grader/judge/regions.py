"""Regions of wrong elements: from an index on, up to an index, periodic, at the borders."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from grader.judge.inputs import Array
from grader.records import Evidence, WrongRegion

PERIODS = (2, 3, 4, 5, 7, 8, 16, 32, 64, 128, 256, 512, 1024)
MOST_WRONG = 0.9
"""Share of a flat tail that must be wrong for it to count as one."""
TAIL = 16
"""A flat tail begins after at least this fraction of the elements: "all but the first" says no more than "all"."""

Make = Callable[[str, str, WrongRegion], Evidence]


def regions(mask: Array, make: Make) -> tuple[Evidence, ...]:
    """Return the regions of an output's wrong elements, by dim, or else in flat order."""
    if mask.ndim == 0 or mask.all():
        return ()
    found = [
        evidence for dim in range(mask.ndim) if (evidence := _along(mask, dim, make)) is not None
    ]
    if mask.ndim > 1 and all(e.code == "from-index-on" for e in found):
        flat = _flat_tail(mask.reshape(-1), mask.shape[-1], make)
        found = [*found, *([flat] if flat else [])]
    return tuple(found)


def _along(mask: Array, dim: int, make: Make) -> Evidence | None:
    others = tuple(d for d in range(mask.ndim) if d != dim)
    bad = np.asarray(mask.any(axis=others))
    if bad.size < 2 or bad.all():
        return None
    name = name_of_dim(mask.ndim, dim)
    return (
        _prefix_or_suffix(bad, name, dim, make)
        or _borders(bad, name, dim, make)
        or _periodic(bad, name, dim, make)
        or _few(bad, name, dim, make)
    )


def name_of_dim(ndim: int, dim: int) -> str:
    """Return the plural noun for a dim's indices."""
    if ndim == 1:
        return "elements"
    if ndim == 2:
        return "rows" if dim == 0 else "columns"
    return f"indices of dim {dim}"


def _prefix_or_suffix(bad: Array, name: str, dim: int, make: Make) -> Evidence | None:
    changes = np.flatnonzero(bad[1:] != bad[:-1])
    if changes.size != 1:
        return None
    cut, n = int(changes[0]) + 1, bad.size
    if bad[-1]:
        text = f"only {name} from {cut} on are wrong ({cut} of {n} are right)"
        return make("from-index-on", text, WrongRegion(dim=dim, first_wrong=cut, size=n))
    text = f"only the first {cut} of {n} {name} are wrong"
    if cut == 1:
        text = f"only the first of the {n} {name} is wrong"
    return make("up-to-index", text, WrongRegion(dim=dim, first_right=cut, size=n))


def _borders(bad: Array, name: str, dim: int, make: Make) -> Evidence | None:
    right = np.flatnonzero(~bad)
    first, last = int(right[0]), int(right[-1])
    if right.size != last - first + 1 or first == 0 or last == bad.size - 1:
        return None
    text = f"only the outer {name} are wrong (before {first} and after {last} of {bad.size})"
    return make(
        "borders", text, WrongRegion(dim=dim, first_right=first, last_right=last, size=bad.size)
    )


def _periodic(bad: Array, name: str, dim: int, make: Make) -> Evidence | None:
    for period in PERIODS:
        if bad.size < 2 * period:
            return None
        whole = bad[: bad.size - bad.size % period].reshape(-1, period)
        row = whole[0]
        if (whole == row).all() and (bad[whole.size :] == row[: bad.size % period]).all():
            return _period_text(row, period, name, dim, make)
    return None


def _period_text(row: Array, period: int, name: str, dim: int, make: Make) -> Evidence:
    wrong, right = np.flatnonzero(row), np.flatnonzero(~row)
    if wrong.size == 1:
        text = f"every {_ordinal(period)} of the {name} is wrong (index % {period} == {wrong[0]})"
    elif right.size == 1:
        text = (
            f"only every {_ordinal(period)} of the {name} is right (index % {period} == {right[0]})"
        )
    else:
        text = f"{wrong.size} of every {period} {name} are wrong"
    return make(
        "periodic", text, WrongRegion(dim=dim, period=period, wrong=tuple(wrong.tolist()[:32]))
    )


def _ordinal(n: int) -> str:
    ending = "th" if n % 100 in {11, 12, 13} else {1: "st", 2: "nd", 3: "rd"}.get(n % 10, "th")
    return f"{n}{ending}"


def _few(bad: Array, name: str, dim: int, make: Make) -> Evidence | None:
    where = np.flatnonzero(bad)
    if where.size > max(3, bad.size // 16):
        return None
    listed = ", ".join(map(str, where[:4].tolist())) + (", ..." if where.size > 4 else "")
    text = f"only {where.size} of {bad.size} {name} are wrong ({listed})"
    return make("few", text, WrongRegion(dim=dim, wrong=tuple(where[:32].tolist()), size=bad.size))


def _flat_tail(flat: Array, row: int, make: Make) -> Evidence | None:
    first = int(np.argmax(flat))
    if first % row == 0 or first * TAIL < flat.size or float(flat[first:].mean()) < MOST_WRONG:
        return None
    text = f"only elements from flat index {first} of {flat.size} on are wrong"
    return make("flat-tail", text, WrongRegion(first_wrong=first, size=int(flat.size)))
