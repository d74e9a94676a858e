"""The same change at similar places of a host function, since a slip is copied with its statement, as from keys to values."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from grader.simulator.changes.host_forms import Form
from grader.source.python_code import PythonCode

MOST = 4
"""Most places that are changed together."""
_NAME = re.compile(r"Name\(id='[^']*'")


def alike_forms(code: PythonCode, forms: Iterable[Form]) -> Iterator[Sequence[Form]]:
    """Yield forms for places that differ only in names."""
    by_place: dict[ast.AST, list[Form]] = defaultdict(list)
    for form in forms:
        if form[0] is form[1] and isinstance(form[0], ast.Call | ast.BinOp | ast.Subscript):
            by_place[form[0]].append(form)
    alike: dict[object, list[list[Form]]] = defaultdict(list)
    for place, ways in by_place.items():
        shape = _NAME.sub("", ast.dump(place))
        alike[code.function_of(place), shape, len(ways)].append(ways)
    for group in alike.values():
        if 1 < len(group) <= MOST:
            yield from zip(*group, strict=True)
