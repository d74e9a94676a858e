"""The registry of rules: those of this package, and of installed plug-ins."""

import importlib
import logging
import pkgutil
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from types import MappingProxyType, ModuleType

from grader.rules.rule import Rule

GROUP = "kernel_grader.rules"
logger = logging.getLogger(__name__)


@cache
def all_rules() -> Mapping[str, Rule]:
    """Return every rule by its code, sorted by code.

    A module in a family's folder is a rule's when it has a `RULE`. Entry points of the group
    `kernel_grader.rules` name a `Rule` or an iterable of them; one that can't be loaded is logged
    and left out. Raises ValueError when two rules share a code.
    """
    rules: dict[str, Rule] = {}
    for rule in (*_own_rules(), *_plugin_rules()):
        if rules.setdefault(rule.code, rule) is not rule:
            msg = f"two rules have the code {rule.code}: {rules[rule.code].name} and {rule.name}"
            raise ValueError(msg)
    return MappingProxyType(dict(sorted(rules.items())))


def own_rules() -> Mapping[str, Rule]:
    """Return the rules of this package by their codes."""
    return {code: rule for code, rule in all_rules().items() if _is_own(rule.check.__module__)}


def rule(code: str) -> Rule:
    """Return the rule with this code, former code or name; raises KeyError where there is none."""
    wanted = code.strip()
    every = all_rules().values()
    by_code = {known: each for each in every for known in each.codes}
    if wanted.upper() in by_code:
        return by_code[wanted.upper()]
    return {each.name: each for each in every}[wanted.lower()]


def _is_own(module: str) -> bool:
    return module.startswith(f"{__package__}.")


def _own_rules() -> Iterator[Rule]:
    for info in pkgutil.walk_packages([str(Path(__file__).parent)], f"{__package__}."):
        if not info.ispkg and info.name.count(".") == 3:
            yield from _rule_of(importlib.import_module(info.name))


def _rule_of(module: ModuleType) -> Iterator[Rule]:
    found = getattr(module, "RULE", None)
    if isinstance(found, Rule):
        yield found


def _plugin_rules() -> Iterator[Rule]:
    for entry in entry_points(group=GROUP):
        try:
            loaded = entry.load()
            yield from (loaded,) if isinstance(loaded, Rule) else tuple(loaded)
        except Exception:
            logger.exception("the rule plug-in %s can't be loaded", entry.name)
