"""The families of rules: a table of the common properties of a folder's rules."""

from collections.abc import Mapping
from dataclasses import dataclass

from grader.records import Prediction


@dataclass(frozen=True)
class Family:
    """Common properties of all rules whose codes begin with the same three letters."""

    prefix: str
    title: str
    predicts: Prediction = "nothing"
    """Default prediction: the observation in a build or run if such a rule is right."""
    explains_results: bool = False
    """Whether its errors explain a wrong result."""
    at_run_time: bool = False
    """Whether its defects show only where a kernel runs."""
    first: bool = False
    """Whether its rules run before all others, so that a costly text can't hide a cheat."""


IN_ORDER_OF_PRECEDENCE = (
    Family("EXT", "Extraction and contract", "raises", explains_results=True),
    Family("BLD", "Build", "build-fails"),
    Family("GRD", "Gradients", "wrong-values", explains_results=True),
    Family("SYN", "Synchronisation and races", "race", explains_results=True, at_run_time=True),
    Family("RED", "Reduction logic", "wrong-values", explains_results=True, at_run_time=True),
    Family("MEM", "Memory safety", "out-of-bounds", explains_results=True, at_run_time=True),
    Family(
        "DEP",
        "Dependence: what a result is made of",
        "wrong-values",
        explains_results=True,
        at_run_time=True,
    ),
    Family("NUM", "Numerics and meaning", "wrong-values", explains_results=True, at_run_time=True),
    Family(
        "IDX",
        "Indexing and launch geometry",
        "wrong-values",
        explains_results=True,
        at_run_time=True,
    ),
    Family("API", "PyTorch extension API", "raises", explains_results=True),
    Family("PRF", "Performance", at_run_time=True),
    Family("STY", "Notes on style"),
    Family("CHT", "Cheating and grader gaming", first=True),
    Family("SEC", "Security", first=True),
)
"""Order of precedence: of two findings of one defect, the earlier family's names it."""
FAMILIES: Mapping[str, Family] = {family.prefix: family for family in IN_ORDER_OF_PRECEDENCE}
OTHER = Family("", "")
"""Properties of plug-in rules with their own letters."""


def family_of(code: str) -> Family:
    """Return the family of a rule's code."""
    return FAMILIES.get(code[:3], OTHER)


def precedence_of(code: str) -> int:
    """Return the place of a code's family in the order of precedence; last for unknown ones."""
    prefixes = [family.prefix for family in IN_ORDER_OF_PRECEDENCE]
    return prefixes.index(code[:3]) if code[:3] in prefixes else len(prefixes)
