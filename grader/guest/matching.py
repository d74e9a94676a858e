"""Matches each tensor of a submission's model to one of the reference's weights.

Both are constructed under the same seed, so a weight that both draw has the same values on both sides,
under whatever name and in whatever layout the submission keeps it. Names decide only between equal weights, such as
constants, and for a submission that draws its own in another way.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, permutations

import torch

Tensors = Mapping[str, torch.Tensor]
Step = Callable[[Tensors, Tensors], dict[str, str]]
MOST_AXES = 5
"""Most axes of a tensor for which all orders are tried."""


@dataclass(frozen=True)
class Origin:
    """The tensor of the reference that one of the submission's is made from."""

    name: str
    axes: tuple[int, ...]
    """The order of the reference's axes; the shape is then the submission's."""
    how: str
    """The method by which it was found, for the report."""


def match(own: Tensors, initial: Tensors, given: Tensors) -> dict[str, Origin]:
    """Return the origin of the submission's tensors, by their names.

    `own` and `initial` are the tensors of submission and reference after construction under one seed, `given` are the
    weights to load, with the names and shapes of `initial`. Without `initial` only names, shapes and order are used.
    """
    known = {name: value for name, value in initial.items() if name in given}
    found = _by_values(own, known)
    used = {origin.name for origin in found.values()}
    rest = {name: value for name, value in own.items() if name not in found}
    left = {name: value for name, value in given.items() if name not in used}
    return found | _without_values(rest, left)


def _by_values(own: Tensors, initial: Tensors) -> dict[str, Origin]:
    """Pair tensors of equal values; several copies of one tensor are all paired with it."""
    found: dict[str, Origin] = {}
    same: dict[tuple[str, ...], list[str]] = {}
    orders: dict[str, dict[str, tuple[int, ...]]] = {}
    for name, value in own.items():
        axes = {other: _axes(initial[other], value) for other in initial}
        orders[name] = {other: order for other, order in axes.items() if order is not None}
        if orders[name]:
            same.setdefault(tuple(orders[name]), []).append(name)
    for sources, targets in same.items():
        if len(sources) == 1 and not _constant(own[targets[0]]):
            pairs = dict.fromkeys(targets, sources[0])
        else:
            pairs = _by_names(targets, sources)
        for target, source in pairs.items():
            found[target] = Origin(source, orders[target][source], "by value")
    return found


def _axes(source: torch.Tensor, target: torch.Tensor) -> tuple[int, ...] | None:
    """Return the order of a source's axes in which its values are the target's; None if there is none."""
    if source.numel() != target.numel() or not source.numel():
        return None
    if source.is_floating_point() != target.is_floating_point():
        return None
    values, wanted = source.to(target.dtype), target.reshape(-1)
    # No order of the axes moves the first element or the last.
    if values.reshape(-1)[0] != wanted[0] or values.reshape(-1)[-1] != wanted[-1]:
        return None
    plain = tuple(range(values.dim()))
    orders = permutations(plain) if values.dim() <= MOST_AXES else iter((plain,))
    return next((o for o in orders if torch.equal(values.permute(o).reshape(-1), wanted)), None)


def _constant(tensor: torch.Tensor) -> bool:
    flat = tensor.reshape(-1)
    return bool((flat == flat[0]).all())


def _by_names(targets: Sequence[str], sources: Sequence[str]) -> dict[str, str]:
    """Pair names, each once: equal ones, then those that end alike, then the rest in their order."""
    found = {name: name for name in targets if name in sources}
    open_targets, open_sources = _open(targets, sources, found)
    found |= _ending_alike((t, s) for t in open_targets for s in open_sources)
    return found | dict(zip(*_open(targets, sources, found), strict=False))


def _open(
    targets: Iterable[str], sources: Iterable[str], found: Mapping[str, str]
) -> tuple[list[str], list[str]]:
    """Return the names on both sides that have no partner yet."""
    used = set(found.values())
    return [t for t in targets if t not in found], [s for s in sources if s not in used]


def _ending_alike(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return the pairs of names where one ends with the other, ignoring dots, and no third name does.

    `gru.weight_ih_l0` and `weight_ih_l.0`; `conv.bias` and `bias`.
    """
    ends = [(t, s) for t, s in pairs if _alike(_letters(t), _letters(s))]
    of_target, of_source = (Counter(pair[side] for pair in ends) for side in (0, 1))
    return {t: s for t, s in ends if of_target[t] == of_source[s] == 1}


def _letters(name: str) -> str:
    return "".join(filter(str.isalnum, name))


def _alike(one: str, other: str) -> bool:
    return one.endswith(other) or other.endswith(one)


def _without_values(own: Tensors, given: Tensors) -> dict[str, Origin]:
    """Pair tensors without an equal; a submission may draw its own weights in another way than the reference."""
    pairs: dict[str, str] = {}
    found: dict[str, Origin] = {}
    for how, step in _STEPS.items():
        targets, sources = _open(own, given, pairs)
        new = step({t: own[t] for t in targets}, {s: given[s] for s in sources})
        for target, source in new.items():
            axes = tuple(range(given[source].dim()))
            found[target] = Origin(source, axes[::-1] if step is _pair_transposed else axes, how)
        pairs |= new
    return found


def _same_name(own: Tensors, given: Tensors) -> dict[str, str]:
    return {name: name for name in own if name in given and own[name].shape == given[name].shape}


def _same_end(own: Tensors, given: Tensors) -> dict[str, str]:
    return _ending_alike((t, s) for t in own for s in given if own[t].shape == given[s].shape)


def _pair_transposed(own: Tensors, given: Tensors) -> dict[str, str]:
    """Pair all matrices in their order where they fit transposed and not otherwise."""
    targets = [name for name, value in own.items() if value.dim() == 2]
    sources = [name for name, value in given.items() if value.dim() == 2]
    shapes = [own[name].shape for name in targets]
    fits = shapes == [given[name].T.shape for name in sources]
    as_they_are = shapes == [given[name].shape for name in sources]
    return dict(zip(targets, sources, strict=True)) if fits and not as_they_are else {}


def _in_order(key: Callable[[torch.Tensor], object]) -> Step:
    """Return a step that pairs tensors with equal keys, in order."""

    def step(own: Tensors, given: Tensors) -> dict[str, str]:
        found: dict[str, str] = {}
        for source, value in given.items():
            fits = (t for t in own if t not in found and key(own[t]) == key(value))
            found |= dict.fromkeys(islice(fits, 1), source)
        return found

    return step


_STEPS: Mapping[str, Step] = {
    "by name and shape": _same_name,
    "by the end of the name": _same_end,
    "transposed, in their order": _pair_transposed,
    "by order among equal shapes": _in_order(lambda tensor: tuple(tensor.shape)),
    "by order among equal sizes": _in_order(torch.Tensor.numel),
}
