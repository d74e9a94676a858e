"""What the capital names in rewrites stand for: variables of a kind that are known at a place, other numbers, other shapes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import permutations

from tree_sitter import Node

from grader.repair.candidates.cuda.scope import Site, mentions, parts, replace_word
from grader.repair.candidates.cuda.sites import axes_of, call_around, makes_tensor
from grader.repair.candidates.cuda.twins import twin_names
from grader.source.cuda_code import around, descendants, read_call, text

NEAR = 4
"""How many of the variables that were declared last may be meant."""
CONSTANTS = (
    0.5, 1.0, 2.0, 3.0, 6.0, 20.0, 0.044715, 0.7978845608028654, 0.7071067811865476, 1.4142135623730951, 1.702,
    0.6931471805599453, 1.4426950408889634, 1.0507009873554805, 1.6732632423543772, 0.01, 0.1, 1e-5, 1e-6, 1e-8, 1e-12,
)  # fmt: skip
"""Numbers that formulas of this field are made of."""
_AXIS = re.compile(r"threadIdx\.[xyz]|[A-Za-z_]\w*")


HOLES: dict[str, Callable[[Site], Sequence[str]]] = {}
"""What each stands for at a site."""


def fill(site: Site, hole: str) -> Iterator[tuple[str, float]]:
    """Yield what a name in capitals stands for at a site; each is as likely as the others."""
    yield from ((name, 1.0) for name in HOLES[hole](site))


def _unused_names(site: Site, names: Iterator[str] | list[str] | tuple[str, ...]) -> list[str]:
    return [name for name in names if not mentions(site.words, name)]


HOLES["SIZE"] = lambda site: _unused_names(site, site.scope.sizes)
HOLES["ANYSIZE"] = lambda site: site.scope.sizes
HOLES["INTEGER"] = lambda site: _unused_names(
    site, site.scope.known("integer", site.node.start_byte)
)
HOLES["MEANT"] = lambda site: [
    name
    for name in HOLES["INTEGER"](site)
    if name in site.scope.sizes
    or name in site.scope.idle
    or rest_of(site, name)
    or share_of(site, name)
]
HOLES["NEAR"] = lambda site: _unused_names(
    site, site.scope.own("integer", site.node.start_byte, NEAR)
)
HOLES["GIVEN"] = lambda site: site.scope.known("real", site.scope.function.node.start_byte)
HOLES["IDLE"] = lambda site: site.scope.idle_elements(site.node.start_byte)
HOLES["IDLESIZE"] = lambda site: [n for n in site.scope.sizes if n in site.scope.idle]
HOLES["STEP"] = lambda site: _unused_names(
    site, ["1", "32", "blockDim.x", "gridDim.x", "blockDim.x * gridDim.x"]
)
HOLES["DIM"] = lambda site: [k for k in "0123" if k != site.text("d")]
HOLES["AXIS"] = lambda site: [n for n in _whole(site) if n in {"dim", "axis"}]
HOLES["LAUNCHED"] = lambda site: _unused_names(site, _launched(site))
HOLES["NUMBER"] = lambda site: list(numbers(site))
HOLES["LENGTH"] = lambda site: [f"{t}.size({d})" for t in [*site.scope.tensors][:1] for d in "01"]


def _whole(site: Site) -> list[str]:
    return site.scope.known("integer", site.node.start_byte)


def _launched(site: Site) -> list[str]:
    """Return what may be launched in the place of a size; no fixed number for what follows the tensors' sizes.

    Enough blocks at the sizes that are tried are no more than luck.
    """
    made = dict(site.scope.made)
    fixed = {name for name, value in made.items() if value.type == "number_literal"}
    if site.words in fixed or site.words not in made:
        return [*_whole(site), *sorted(site.scope.constants)]
    return [name for name in _whole(site) if name not in fixed]


def reals(site: Site) -> list[str]:
    """Return the real numbers that are known there and not in it: parameters, and what was declared last."""
    at = site.node.start_byte
    return _unused_names(
        site,
        [
            *HOLES["GIVEN"](site),
            *site.scope.own("real", at, NEAR),
            *(n for n in site.scope.idle_parts if n[:-2] in site.scope.known("", at)),
        ],
    )


def other_pointers(site: Site) -> list[str]:
    """Return the other arrays of the same type."""
    known = site.scope.pointers
    return [name for name in known if known[name] == known.get(site.words) and name != site.words]


def missing_bounds(site: Site) -> list[str]:
    """Return the bound that a condition lacks: `v < n` beside `v >= 0`, or the other way round."""
    low = set(re.findall(r"(?<![.\w])([A-Za-z_]\w*)\s*>=\s*0\b", site.words))
    high = set(re.findall(r"(?<![.\w])([A-Za-z_]\w*)\s*<\s*\w", site.words))
    bounds = [n for n in site.scope.sizes if not re.search(rf"<\s*{n}\b", site.words)]
    above = [f"{v} < {n}" for v in sorted(low - high) for n in bounds if v != n]
    return [*above, *(f"{v} >= 0" for v in sorted(high - low))]


def rename_sizes(site: Site) -> list[str]:
    """Return `plane * H * W` for `plane * OH * OW`: sizes of the input for those of the output, all of them."""
    made = []
    for names in _sides(site.scope.sizes):
        pattern = "|".join(rf"(?<!\w){re.escape(name)}(?!\w)" for name in names)
        if len(set(re.findall(pattern, site.words))) > 1:
            made.append(re.sub(pattern, lambda found, to=names: to[found[0]], site.words))  # type: ignore[misc]
    return made


def _sides(names: tuple[str, ...]) -> Iterator[Mapping[str, str]]:
    """Yield the sizes that go with others of another beginning: `OH` with `H` and `OW` with `W`."""
    found: dict[tuple[str, str], dict[str, str]] = {}
    for one, other in permutations(names, 2):
        same = 0
        while same < min(len(one), len(other)) and one[-1 - same] == other[-1 - same]:
            same += 1
        if same:
            found.setdefault((one[:-same], other[:-same]), {})[one] = other
    yield from (pairs for pairs in found.values() if len(pairs) > 1)


def by_another_axis(site: Site) -> list[str]:
    """Return what an index was made of, with the thread's other coordinate: `(col0 + ty)` for `col = col0 + tx`."""
    made = dict(site.scope.made)
    value = made.get(site.words)
    if value is None or not axes_of(site, "y"):
        return []
    axes = {name: _axis(name, made) for name in {*_AXIS.findall(text(value)), *made}}
    own = [name for name in _AXIS.findall(text(value)) if axes[name]]
    others = [n for n in made if axes[n] and text(made[n]).startswith("threadIdx.")]
    others += [f"threadIdx.{axis}" for axis in "xy"]
    words = text(value)
    pairs = ((a, b) for a in dict.fromkeys(own) for b in dict.fromkeys(others))
    return [f"({replace_word(words, a, b)})" for a, b in pairs if _axis(a, made) != _axis(b, made)]


def _axis(name: str, made: Mapping[str, Node]) -> str:
    """Return the coordinate of the thread that a name is: `x` for `threadIdx.x` and for `tx`; empty for others."""
    words = text(made[name]) if name in made else name
    found = re.fullmatch(r"threadIdx\.([xyz])", words)
    return found[1] if found else ""


def shapes(site: Site) -> list[str]:
    """Return other shapes of a new tensor: two dims the other way round, one more, one less, one split in two."""
    if not makes_tensor(site.node):
        return []
    sizes = [text(child) for child in site.bound["a"].named_children]
    found = [[*sizes[:k], sizes[k + 1], sizes[k], *sizes[k + 2 :]] for k in range(len(sizes) - 1)]
    found.append([] if sizes == ["1"] else [*sizes, "1"])
    for k, size in enumerate(sizes):
        split = re.fullmatch(r"(\w+) \* (\w+)", size)
        found += [[*sizes[:k], *split.groups(), *sizes[k + 1 :]]] if split else []
        found += [[*sizes[:k], *sizes[k + 1 :]]] if size == "1" and len(sizes) > 1 else []
    return [f"{{{', '.join(one)}}}" for one in found]


def numbers(site: Site) -> Mapping[str, float]:
    """Return other numbers for a literal, each with its cost: one more or less, another start, a well-known constant."""
    words = site.words
    if re.fullmatch(r"0x[0-9a-fA-F]+u?", words):
        return {} if words.lower().rstrip("u") == "0xffffffff" else {"0xffffffff": 1.5}
    if re.fullmatch(r"\d+", words):
        outer = call_around(site.node)
        if outer is not None and read_call(outer).last == "size" and int(words) < 5:
            return {str(k): 1.8 for k in range(5) if k != int(words)}
        return _whole_numbers(int(words))
    return _real_numbers(words)


def _whole_numbers(value: int) -> Mapping[str, float]:
    power = value > 2 and value & (value - 1) == 0  # a width or an offset of lanes
    near = {value + 1: 2.5, value - 1: 2.5, value * 2: 2.0 if power else 2.5}
    if value % 2 == 0:
        near[value // 2] = 2.0 if power else 2.5
    if value in {0, 1}:
        near |= {2: 4.0}
    if value in {8, 16, 31, 32, 33, 64}:
        near |= {16: 2.0, 31: 2.5, 32: 2.0}
    return {str(n): cost for n, cost in near.items() if n >= 0 and n != value}


def _real_numbers(words: str) -> Mapping[str, float]:
    suffix = "f" if words[-1] in "fF" else ""
    try:
        value = float(words.rstrip("fFlL"))
    except ValueError:
        return {}
    if value == 0:
        return {"-INFINITY": 2.0, "INFINITY": 2.5, f"1.0{suffix}": 2.0}
    if abs(value) > 1e9:
        return {f"0.0{suffix}": 2.5, "-INFINITY": 2.0, "INFINITY": 2.5}
    near = {f"{value * k!r}{suffix}": 3.5 for k in (0.5, 2.0)}
    tenfold = (value * 10, value / 10) if abs(value) < 1 else ()  # a slope of 0.01 for 0.1
    near |= {f"{float(f'{k:.6g}')!r}{suffix}": 3.0 for k in tenfold}
    near |= {f"0.0{suffix}": 2.5} if value == 1 else {}
    for other in CONSTANTS:
        off = abs(other / value - 1)
        if other != value and (off < 0.5 or max(value, other) < 0.01):
            near[f"{other!r}{suffix}"] = 2.0 if off < 0.2 else 3.0
    return near


def other_fields(site: Site) -> list[str]:
    """Return the other whole numbers of a struct: `win.sw` for `win.sh`."""
    owner = site.words.rpartition(".")[0]
    return [n for n in site.scope.sizes if n.rpartition(".")[0] == owner and n != site.words]


def other_shares(site: Site) -> list[str]:
    """Return other sizes divided by what a name's own is: `(O / groups)` where it was made as `C / groups`."""
    own = dict(site.scope.made).get(site.words)
    size, sign, by = parts(own) if own is not None else ("", "", "")
    shared = sign == "/" and by in site.scope.sizes
    return [f"({n} / {by})" for n in site.scope.sizes if n not in {size, by}] if shared else []


def divisors(site: Site) -> list[str]:
    """Return the count by which a mean was divided, where a name stands for one."""
    own = dict(site.scope.made).get(site.words)
    _, sign, by = parts(own) if own is not None else ("", "", "")
    return [by] if sign == "/" and by.isidentifier() else []


def conditions(site: Site) -> list[str]:
    """Return by what the function chooses between two numbers."""
    chosen = descendants(site.scope.body, "conditional_expression")
    found = (text(one.child_by_field_name("condition")) for one in chosen)
    return list(dict.fromkeys(words for words in found if not mentions(words, site.words)))


HOLES["REAL"] = reals
HOLES["FIELD"] = other_fields
HOLES["SHARE"] = other_shares
HOLES["DIVISOR"] = divisors
HOLES["CONDITION"] = conditions
HOLES["TWIN"] = twin_names
HOLES["POINTER"] = other_pointers
HOLES["MISSING"] = missing_bounds
HOLES["RENAMED"] = rename_sizes
HOLES["OTHERAXIS"] = by_another_axis
HOLES["SHAPE"] = shapes


def rest_of(site: Site, name: str) -> bool:
    """Whether a variable is what is left of the one that a site is, which was divided up before: `b = i / rows`."""
    if site.words not in site.scope.divided:
        return False
    values = (value for other, value in site.scope.made if other == name)
    return any(text(n) == site.words for v in values for n in descendants(v, "identifier"))


def share_of(site: Site, name: str) -> bool:
    """Whether a variable is a size that a site is, divided: `cg = C / groups`."""
    made = dict(site.scope.made).get(name)
    return made is not None and parts(made)[:2] == (site.words, "/")


def in_real_expression(site: Site) -> bool:
    """Whether a whole quotient goes into a real number."""
    parent = site.node.parent
    if parent is None or parent.type != "binary_expression" or parts(parent)[1] != "/":
        return False
    whole = site.scope.kind_of(parent) == "integer"
    return whole and any(site.scope.kind_of(outer) == "real" for outer in around(parent))
