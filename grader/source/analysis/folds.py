"""Folds over loops: running maxima, minima and products."""

from grader.source.cpp import Assign, Binary, Call, Declare, Expr, If, Loop, Name, Part, walk
from grader.source.functions import Function

MAXIMA = frozenset({"max", "fmax", "fmaxf", "std::max", "__hmax"})
MINIMA = frozenset({"min", "fmin", "fminf", "std::min", "__hmin"})


def folds(function: Function) -> dict[str, list[tuple[str, Expr]]]:
    """Return the folds of variables that outlive a loop (`max`, `min`, `product`), with the folded values."""
    out: dict[str, list[tuple[str, Expr]]] = {}
    for loop in walk(function.code):
        if not isinstance(loop, Loop):
            continue
        parts = list(walk(loop.body))
        declared = {p.name for p in parts if isinstance(p, Declare)}
        for part in parts:
            name = _folded_name(part)
            found = _fold(part, name) if name and name not in declared else None
            if found is not None:
                out.setdefault(name, []).append(found)
    return out


def _folded_name(part: Part) -> str:
    if isinstance(part, Assign) and isinstance(part.target, Name):
        return part.target.id
    if isinstance(part, If):
        test = _first_test(part.test)
        if isinstance(test, Binary) and isinstance(test.right, Name):
            return test.right.id
    return ""


def _first_test(test: Expr) -> Expr:
    """Return `v > m` of `v > m || (v == m && i < k)`."""
    while isinstance(test, Binary) and test.op == "||":
        test = test.left
    return test


def _fold(part: Part, name: str) -> tuple[str, Expr] | None:
    if isinstance(part, Assign):
        value = part.value
        if part.op == "*=":
            return "product", value
        if part.op == "=" and isinstance(value, Call) and len(value.args) == 2:
            kind = "max" if value.name in MAXIMA else "min" if value.name in MINIMA else ""
            mine = [a for a in value.args if isinstance(a, Name) and a.id == name]
            others = [a for a in value.args if not (isinstance(a, Name) and a.id == name)]
            return (kind, others[0]) if kind and mine and others else None
    test = _first_test(part.test) if isinstance(part, If) else None
    if isinstance(part, If) and isinstance(test, Binary) and test.op in {">", "<"}:
        return _guarded_fold(part, test, name)
    return None


def _guarded_fold(part: If, test: Binary, name: str) -> tuple[str, Expr] | None:
    """Return the fold of `if (v > m) m = v;`."""
    sets = [
        p
        for p in walk(part.then)
        if isinstance(p, Assign)
        and p.op == "="
        and isinstance(p.target, Name)
        and p.target.id == name
    ]
    if not sets or not isinstance(test.right, Name) or test.right.id != name:
        return None
    if not same_text(sets[0].value, test.left):
        return None
    return ("max" if test.op == ">" else "min"), test.left


def same_text(one: Expr, other: Expr) -> bool:
    """Whether two expressions are written alike."""
    return bool(
        one.node is not None and other.node is not None and one.node.text == other.node.text
    )
