"""Names of a host function that may be confused with one another: numbers, other values, attributes of one object."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from grader.source import Source

MEASURED = frozenset({"shape", "size", "numel", "stride", "dim"})
MOST = 8
"""Most names that one name is exchanged with."""
OWN = frozenset({"self", "ctx"})


def alike_names(function: ast.FunctionDef) -> Mapping[str, Sequence[str]]:
    """Return the other names of the same kind, for each name and each attribute with its object."""
    names = {one.arg for one in function.args.args} - OWN
    numbers: set[str] = set()
    objects: dict[str, set[str]] = defaultdict(set)
    for node in ast.walk(function):
        if isinstance(node, ast.Assign):
            made = {one.id for to in node.targets for one in ast.walk(to) if isinstance(one, ast.Name)}  # fmt: skip
            numbers |= made if _counts(node.value) else set()
            names |= made
    for attribute in _read(function):
        objects[ast.unparse(attribute.value)].add(ast.unparse(attribute))
    groups = (numbers, names - numbers, *objects.values())
    return {one: _other_names(one, group) for group in groups for one in group}


def kept_settings(source: Source) -> Sequence[str]:
    """Return the attributes that a layer keeps of its parameters: `self.dim`, `self.bn.eps`."""
    return tuple(dict.fromkeys(_settings(source)))[:MOST]


def _settings(source: Source) -> Iterator[str]:
    for node in source.walk(ast.Assign):
        for target in node.targets:
            for one in target.elts if isinstance(target, ast.Tuple) else (target,):
                if isinstance(one, ast.Attribute) and source.text(one).startswith("self."):
                    if not isinstance(node.value, ast.Call):
                        yield source.text(one)
                    elif ".nn." in f".{source.module.canonical(node.value.func)}":
                        yield f"{source.text(one)}.eps"


def _other_names(name: str, group: Iterable[str]) -> list[str]:
    return sorted(set(group) - {name})[:MOST]


def _counts(value: ast.expr) -> bool:
    """Whether a value is a size, or computed of sizes."""
    called = value.func if isinstance(value, ast.Call) else None
    other = isinstance(called, ast.Name) or (isinstance(called, ast.Attribute) and called.attr not in MEASURED)  # fmt: skip
    return not other and any(
        isinstance(one, ast.Attribute) and one.attr in MEASURED for one in ast.walk(value)
    )


def _read(function: ast.FunctionDef) -> Iterator[ast.Attribute]:
    """Yield the attributes that are read, without methods and modules' functions."""
    called = {node.func for node in ast.walk(function) if isinstance(node, ast.Call)}
    for node in ast.walk(function):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node not in called:  # fmt: skip
            if isinstance(node.ctx, ast.Load) and node.attr not in {"shape", "device", "dtype"}:
                yield node
