"""The rows of a language's table, applied to the expressions of a function."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import product
from typing import Any

from grader.repair.candidates.candidate import Candidate
from grader.repair.candidates.changeable import Changeable, Site
from grader.repair.candidates.pattern import Form, Rewrite, Tree, match, pattern_tree

FORGOTTEN = 0.5
"""What the cost of a change is multiplied with that uses a name which nothing uses."""
ELSEWHERE = {True: {"device", "kernel"}, False: {"host"}}
"""What rows ask for that never hold in host code, and outside of it."""
_HOLE = re.compile(r"\{([A-Z]+)\}")
_NAMES = re.compile(r"(?!\d)(?P<one>\w*?)(?P<end>\w*) (?P<other>(?!\d)\w*?)(?P=end)")
_ELEMENT = re.compile(r"(\w+)\[([^\[\]]*)\]")
_WORD = re.compile(r"[A-Za-z_]\w*(?:\.[xyzw]\b)?")


def rewrite_expressions(scope: Changeable) -> Iterator[Candidate]:
    """Yield what each of a function's expressions may become, by its language's table."""
    rewrites = _by_form(scope.tree, scope.table, frozenset(ELSEWHERE[scope.on_host]))
    for node in scope.expressions:
        for form in _forms(scope.tree, node):
            for rewrite in rewrites.get(form, ()):
                yield from replacements(rewrite, scope, node)


def replacements(rewrite: Rewrite, scope: Changeable, node: Any) -> Iterator[Candidate]:
    """Yield the changes that a row makes of a node."""
    bound = match(scope.tree, pattern_tree(scope.tree, rewrite.pattern), node, {})
    site = Site(scope, node, bound or {})
    if bound is None or not all(map(site.holds, rewrite.where)):
        return
    letters = {letter: scope.words_of(one) for letter, one in bound.items()}
    letters |= {f"{letter}_": scope.old(one) for letter, one in bound.items()}
    for template in rewrite.become:
        asked = list(dict.fromkeys(_HOLE.findall(template)))
        for filled in product(*(scope.fill(site, name) for name in asked)):
            names = [name for name, _ in filled]
            words = template.format(**letters, **dict(zip(asked, names, strict=True)))
            cost = rewrite.cost * math.prod(factor for _, factor in filled)
            cost *= FORGOTTEN if scope.idle.intersection(_WORD.findall(words)) else 1.0
            done = " ".join((rewrite.pattern, template, *names))
            ways = (done,) if rewrite.together else _ways(site.words, words)
            new = scope.in_place(node, words)
            yield scope.change(node, new, cost, rewrite.touches, rewrite.kind, ways)


def _ways(old: str, new: str) -> tuple[str, ...]:
    """Return what a change has in common with others: its words, what two names begin with that end alike, an index, an array, an axis that is lacking."""
    if names := _NAMES.fullmatch(f"{old} {new}"):
        return (f"{names['one']} {names['other']}",)
    if new.startswith(f"{old}["):
        return ("[]",)
    one, other = _ELEMENT.fullmatch(old), _ELEMENT.fullmatch(new)
    of_elements = (f"[{one[2]} {other[2]}]", f"{one[1]} {new}") if one and other else ()
    return (f"{old} {new}", *of_elements)


@cache
def _by_form(
    tree: Tree, rewrites: tuple[Rewrite, ...], elsewhere: frozenset[str]
) -> Mapping[Form, tuple[Rewrite, ...]]:
    """Return rewrites by the form of their pattern, without those that only other functions may need."""
    found: dict[Form, list[Rewrite]] = {}
    for one in (one for one in rewrites if not elsewhere.intersection(one.where)):
        found.setdefault(_forms(tree, tree.parse(one.pattern))[-1], []).append(one)
    return {form: tuple(ones) for form, ones in found.items()}


def _forms(tree: Tree, node: Any) -> tuple[Form, ...]:
    """Return the forms of patterns that may match a node: any, those of its type, those with its operator or function."""
    if tree.letter(node):
        return ((),)
    kind, sign = tree.head(node)[0], tree.sign(node)
    return ((), (kind,), *(((kind, sign),) if sign else ()))
