"""Reference-fixed kernels by family: complete programs written from a task's parameters."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from grader.repair.families.family import Family, Names

__all__ = ["Family", "Names", "families"]


@cache
def families() -> dict[str, Family]:
    """Return all families by name: those of every module of this folder."""
    found: dict[str, Family] = {}
    for module in iter_modules(__path__):
        for family in getattr(import_module(f"{__name__}.{module.name}"), "FAMILIES", ()):
            found[family.name] = family
    return found
