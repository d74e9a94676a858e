"""Values of the capital names in CUDA's rows: visible variables of a kind, other shapes, parts of statements."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from grader.repair.candidates.changeable import Site
from grader.repair.candidates.cuda.names import Names
from grader.repair.candidates.cuda.tree import call_around, called_name, is_target, mentions, parts
from grader.repair.candidates.letters import axes, difference
from grader.repair.candidates.numbers import DIMS, other_numbers
from grader.repair.candidates.pattern import Hole
from grader.source.nodes import descendants, text

CudaSite = Site[Names]
NEAR = 4
"""Number of last declared variables to try."""
STORED = 3
"""Number of them to try as the stored value."""
USED, SAME, OTHER = 2.5, 1.4, 1.6
"""Factors on the cost of a store to an already filled array, and of another row width."""
LIKELY, UNLIKELY = 0.76, 1.6
"""Factors of a name that is similar to the written one, and of one that is not."""


def _unused_names(site: CudaSite, names: Sequence[str]) -> list[str]:
    """Return the names that an expression lacks."""
    return [name for name in names if not mentions(site.words, name)]


def _whole_numbers(site: CudaSite) -> list[str]:
    return site.scope.known_variables("integer", site.node.start_byte)


def _near(site: CudaSite) -> list[str]:
    return _unused_names(site, site.scope.last_declared("integer", site.node.start_byte, NEAR))


def _real_parameters(site: CudaSite) -> list[str]:
    return site.scope.known_variables("real", site.scope.function.node.start_byte)


def _reals(site: CudaSite) -> list[str]:
    """Return the visible real numbers that an expression lacks: parameters, and last declared variables."""
    scope, at = site.scope, site.node.start_byte
    unread = (name for name in scope.idle_parts if name[:-2] in scope.known_variables("", at))
    return _unused_names(
        site, [*_real_parameters(site), *scope.last_declared("real", at, NEAR), *unread]
    )


def _sizes_meant(site: CudaSite) -> Mapping[str, float]:
    """Return the sizes and unused numbers that a name may be confused with, and its parts after a division."""
    divided = {
        name for name in _unused_names(site, _whole_numbers(site)) if _is_part_of(site, name)
    }
    known = {*site.scope.sizes, *site.scope.idle}
    names = (name for name in _unused_names(site, _whole_numbers(site)) if name in known | divided)
    return {name: LIKELY if name in divided else _closeness(site.words, name) for name in names}


def _is_part_of(site: CudaSite, name: str) -> bool:
    """Whether a variable is a share of a site's variable, `cg = C / groups`, or the rest of a decomposed one."""
    value = dict(site.scope.made).get(name)
    if value is None or parts(value)[:2] == (site.words, "/"):
        return value is not None
    inside = (text(one) for one in (value, *descendants(value, "identifier")))
    return site.words in site.scope.divided and site.words in inside


def _closeness(written: str, name: str) -> float:
    one, other = (set(re.split(r"_|(?<=[a-z])(?=[A-Z])", each)) for each in (written, name))
    if one > other or one < other:
        return LIKELY  # `effective_padding` for `padding`
    return 1.0 if one & other or max(len(written), len(name)) <= 2 else UNLIKELY


def _twins(site: CudaSite) -> list[str]:
    """Return the names of the same kind that differ from one by the letters of an axis; of real numbers by any letter."""
    scope, kind = site.scope, site.scope.kind_of(site.node)
    known = scope.known_variables(kind, site.node.start_byte) if kind else []
    apart = ((name, difference(site.words, name)) for name in known)
    letters = axes(scope.names)
    return [name for name, pair in apart if pair and (kind == "real" or pair in letters)]


def _pointers(site: CudaSite) -> list[str]:
    """Return the other arrays of the same type."""
    known = site.scope.pointers
    return [name for name in known if known[name] == known.get(site.words) and name != site.words]


def _fields(site: CudaSite) -> Mapping[str, float]:
    """Return the other whole numbers of a struct: `win.sw` for `win.sh`; names of one axis end alike, as in `ow * win.sw`."""
    left, _, right = parts(site.node.parent)
    beside, owner = right if left == site.words else left, site.words.rpartition(".")[0]
    others = (n for n in site.scope.sizes if n.rpartition(".")[0] == owner and n != site.words)
    return {name: 1.0 if beside[-1:] == name[-1:] else UNLIKELY for name in others}


def _shares(site: CudaSite) -> list[str]:
    """Return other sizes with a name's own divisor: `(O / groups)` for one defined as `C / groups`."""
    size, sign, by = parts(dict(site.scope.made).get(site.words))
    shared = sign == "/" and by in site.scope.sizes
    return [f"({n} / {by})" for n in site.scope.sizes if n not in {size, by}] if shared else []


def _divisor(site: CudaSite) -> list[str]:
    """Return the divisor in a name's definition: the count of a mean, the width of a vector."""
    _, sign, by = parts(dict(site.scope.made).get(site.words))
    return [by] if sign == "/" and re.fullmatch(r"\w+", by) else []


def _conditions(site: CudaSite) -> list[str]:
    """Return the conditions by which the function selects between two numbers."""
    chosen = descendants(site.scope.body, "conditional_expression")
    found = (text(one.child_by_field_name("condition")) for one in chosen)
    return [words for words in dict.fromkeys(found) if not mentions(words, site.words)]


def _compared_names(words: str, sign: str) -> set[str]:
    return set(re.findall(rf"(?<![.\w])([A-Za-z_]\w*)\s*{sign}", words))


def _above(site: CudaSite) -> list[str]:
    """Return `v < n` for a variable that a condition only requires to be non-negative."""
    low = _compared_names(site.words, r">=\s*0\b") - _compared_names(site.words, r"<\s*\w")
    bounds = [n for n in site.scope.sizes if not re.search(rf"<\s*{n}\b", site.words)]
    return [f"{name} < {bound}" for name in sorted(low) for bound in bounds if name != bound]


def _below(site: CudaSite) -> list[str]:
    """Return `v >= 0` for a variable that a condition only bounds above."""
    high = _compared_names(site.words, r"<\s*\w") - _compared_names(site.words, r">=\s*0\b")
    return [f"{name} >= 0" for name in sorted(high)]


def _widths(site: CudaSite) -> Mapping[str, float]:
    """Return the possible row widths of a column index: first those that it is compared with or named like."""
    index = re.split(r"\W+", site.text("a"))[-1]

    def fits(size: str) -> bool:
        below = rf"\b{index}\s*<\s*{size}\b|\b{index}\s*=[^;=]*%\s*{size}\b"
        return index.lower() == size.lower() or re.search(below, text(site.scope.body)) is not None

    sizes = dict.fromkeys((*site.scope.sizes, site.text("s")))
    return {n: 1.0 if fits(n) else SAME if n == site.text("s") else OTHER for n in sizes}


def _launchable_sizes(site: CudaSite) -> list[str]:
    """Return replacements of a launch's size; no constant for one that depends on the tensors' sizes.

    Enough blocks at the tested sizes would be luck.
    """
    made = dict(site.scope.made)
    fixed = {name for name, value in made.items() if value.type == "number_literal"}
    follows = site.words in made and site.words not in fixed
    whole = [name for name in _whole_numbers(site) if name not in fixed or not follows]
    return _unused_names(site, whole if follows else [*whole, *sorted(site.scope.constants)])


def _counting_constants(site: CudaSite) -> list[str]:
    """Return the constants that the launched kernel counts with."""
    kernel = site.scope.launched_text(site.node)
    return [name for name in _launchable_sizes(site) if name in site.scope.constants and mentions(kernel, name)]  # fmt: skip


def _shapes(site: CudaSite) -> list[str]:
    """Return other shapes of a new tensor: two dims exchanged, one more, one less, one split in two."""
    sizes = [text(child) for child in site.bound["a"].named_children]
    found = [[*sizes[:k], sizes[k + 1], sizes[k], *sizes[k + 2 :]] for k in range(len(sizes) - 1)]
    found.append([] if sizes == ["1"] else [*sizes, "1"])
    for k, size in enumerate(sizes):
        split = re.fullmatch(r"(\w+) \* (\w+)", size)
        found += [[*sizes[:k], *split.groups(), *sizes[k + 1 :]]] if split else []
        found += [[*sizes[:k], *sizes[k + 1 :]]] if size == "1" and len(sizes) > 1 else []
    return [f"{{{', '.join(one)}}}" for one in found]


def _numbers(site: CudaSite) -> Mapping[str, float]:
    """Return other numbers for a literal; for a dim of a tensor the other dims."""
    if called_name(call_around(site.node)) == "size" and site.words in DIMS:
        return {k: 1.8 for k in DIMS if k != site.words}
    return other_numbers(site.words)


def _stores(site: CudaSite) -> Mapping[str, float]:
    """Return `part[tid] = sum;` for the visible shared arrays; likelier where the array is never stored to."""
    scope, at = site.scope, site.node.start_byte
    return {
        f"{name}[{scope.thread}] = {value};": USED if name in scope.filled else 1.0
        for name, kind in scope.shared.items()
        for value in scope.known_variables(kind, at)[-STORED:]
    }


def _read(site: CudaSite) -> list[str]:
    """Return the possibly negative integers that a statement indexes a tensor with."""
    scope, given = site.scope, {p.name for p in site.scope.function.parameters}
    signed = {one.name for one in scope.variables if one.signed} - given
    reads = (one for one in descendants(site.node, "subscript_expression") if not is_target(one))
    own = (one for one in reads if text(one.child_by_field_name("argument")) in scope.pointers)
    names = (text(name) for one in own for name in descendants(one, "identifier"))
    return [name for name in dict.fromkeys(names) if name in signed]


def _dims(site: CudaSite) -> Mapping[str, float]:
    """Return the other dims of a tensor, those beside one first."""
    own = site.text("d")
    near = {str(int(own) + k) for k in (-1, 1)} if own.isdigit() else set()
    return {dim: 1.0 if dim in near else 1.5 for dim in "0123" if dim != own}


STEPS = ("1", "32", "blockDim.x", "gridDim.x", "blockDim.x * gridDim.x")
HOLES: Mapping[str, Hole] = {
    "SIZE": lambda site: _unused_names(site, site.scope.sizes),
    "ANYSIZE": lambda site: site.scope.sizes,
    "INTEGER": lambda site: _unused_names(site, _whole_numbers(site)),
    "IDLE": lambda site: site.scope.idle_elements(site.node.start_byte),
    "IDLESIZE": lambda site: [name for name in site.scope.sizes if name in site.scope.idle],
    "STEP": lambda site: _unused_names(site, STEPS),
    "AXIS": lambda site: [name for name in _whole_numbers(site) if name in {"dim", "axis"}],
    "LENGTH": lambda site: [f"{t}.size({d})" for t in site.scope.tensors[:1] for d in "01"],
    "NEAR": _near, "GIVEN": _real_parameters, "REAL": _reals, "MEANT": _sizes_meant, "TWIN": _twins, "POINTER": _pointers,
    "FIELD": _fields, "SHARE": _shares, "DIVISOR": _divisor, "CONDITION": _conditions, "ABOVE": _above, "BELOW": _below,
    "WIDTH": _widths, "LAUNCHED": _launchable_sizes, "COUNTED": _counting_constants, "SHAPE": _shapes, "NUMBER": _numbers, "STORE": _stores,
    "DIM": _dims, "READ": _read,
}  # fmt: skip
"""Values of each capital name at a site."""
