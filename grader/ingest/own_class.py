"""References whose class has another name than `Model`, as in KernelBook: `GetMask`, answered by `GetMaskNew`.

The grader expects a reference's class `Model`, an answer's class `ModelNew`, and a list of constructor arguments. So
the classes are renamed, and arguments by name (`[[], {"dim": 4}]`) become positional.
"""

from __future__ import annotations

import ast
import re
from typing import NamedTuple

from grader.source import dotted_name, read_python

_REFERENCE, _ANSWER = "Model", "ModelNew"


class Named(NamedTuple):
    """A reference in KernelBench's form, and the original name of its class."""

    text: str
    name: str


def as_model(reference: str, said: str | None = None) -> Named | None:
    """Return a reference with its class renamed to `Model`; None where it has a `Model`, or no unique class.

    `said` is the class's name, if a record gives it.
    """
    tree, _ = read_python(reference)
    defined = {n.name: n for n in (tree.body if tree else ()) if isinstance(n, _DEFINED)}
    modules = [
        n for n in defined.values() if isinstance(n, ast.ClassDef) and _is_module(n, defined)
    ]
    if _REFERENCE in defined or "get_inputs" not in defined or not modules:
        return None
    used = {n.id for one in modules for n in _names(one) if n.id != one.name}
    alone = [one.name for one in modules if one.name not in used]
    name = said if said in defined else (alone or [modules[-1].name])[-1]
    return Named(_rename_identifier(in_order(reference, name), name, _REFERENCE), name)


def as_model_new(answer: str, name: str) -> str | None:
    """Return an answer with its class renamed to `ModelNew`, where its name is made from the reference's."""
    if _ANSWER in answer:
        return None
    called = (
        one for one in (f"{name}New", name) if re.search(rf"^class {one}\b", answer, re.MULTILINE)
    )
    found = next(called, None)
    return _rename_identifier(answer, found, _ANSWER) if found else None


def in_order(reference: str, name: str) -> str:
    """Return a reference whose `get_init_inputs` gives a list of arguments where it gave `[[...], {...}]`."""
    tree, _ = read_python(reference)
    makers = [n for n in (tree.body if tree else ()) if getattr(n, "name", "") == "get_init_inputs"]
    pairs = [
        n.value for one in makers for n in ast.walk(one) if isinstance(n, ast.Return) and n.value
    ]
    match pairs:
        case [ast.List(elts=[ast.List(elts=places), ast.Dict(keys=keys, values=values)]) as pair]:
            words = [k.value if isinstance(k, ast.Constant) else "" for k in keys]
            given = {str(word): value for word, value in zip(words, values, strict=True)}
            arguments = _arguments(tree, name, places, given)
            old = ast.get_source_segment(reference, pair)
            if arguments is not None and old:
                return reference.replace(old, f"[{', '.join(map(ast.unparse, arguments))}]")
    return reference


_DEFINED = (ast.ClassDef, ast.FunctionDef)


def _arguments(
    tree: ast.Module | None, name: str, places: list[ast.expr], named: dict[str, ast.expr]
) -> list[ast.expr] | None:
    """Return the arguments of a constructor in their order, defaults between them; None where that is impossible."""
    owner = next(n for n in (tree.body if tree else ()) if getattr(n, "name", "") == name)
    init = next((n for n in ast.walk(owner) if getattr(n, "name", "") == "__init__"), None)
    taken = (
        init.args
        if isinstance(init, ast.FunctionDef)
        else ast.arguments([], [], None, [], [], None, [])
    )
    names = [one.arg for one in taken.args[1:]]
    defaults = dict(zip(reversed(names), reversed(taken.defaults), strict=False))
    given = {**dict(zip(names, places, strict=False)), **named}
    if not set(given) <= set(names) or len(places) > len(names):
        return None
    last = max((i for i, one in enumerate(names) if one in given), default=-1)
    found = [given.get(one) or defaults.get(one) for one in names[: last + 1]]
    return [one for one in found if one] if all(found) else None


def _is_module(node: ast.ClassDef, defined: dict[str, ast.ClassDef | ast.FunctionDef]) -> bool:
    """Whether a class is one of torch's modules, by its bases or theirs."""
    reached, waiting = {node.name}, [node]
    while waiting:
        bases = {dotted_name(base) or "" for base in waiting.pop().bases} - reached
        if any(name.rpartition(".")[2] == "Module" for name in bases):
            return True
        reached |= bases
        waiting += [one for name in bases if isinstance(one := defined.get(name), ast.ClassDef)]
    return False


def _names(node: ast.AST) -> list[ast.Name]:
    return [one for one in ast.walk(node) if isinstance(one, ast.Name)]


def _rename_identifier(text: str, name: str, to: str) -> str:
    return re.sub(rf"(?<![\w.\"']){name}(?![\w\"'])", to, text)
