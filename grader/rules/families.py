"""The families of rules: one table with what all rules of a folder have in common."""

from collections.abc import Mapping
from dataclasses import dataclass

from grader.records import Prediction


@dataclass(frozen=True)
class Family:
    """What holds for all rules whose codes begin with the same three letters."""

    prefix: str
    title: str
    predicts: Prediction = "nothing"
    """What a build or a run shows where such a rule is right, unless the rule says it itself."""
    explains_results: bool = False
    """Whether its errors explain a wrong result."""
    at_run_time: bool = False
    """Whether what it finds shows only where a kernel runs."""
    first: bool = False
    """Whether its rules run before all others: no text may be so costly that a cheat in it goes unseen."""


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
"""Of two findings of one defect, the one of the earlier family names it."""
FAMILIES: Mapping[str, Family] = {family.prefix: family for family in IN_ORDER_OF_PRECEDENCE}
OTHER = Family("", "")
"""What holds for the rules of plug-ins with letters of their own."""


def family_of(code: str) -> Family:
    """Return the family of a rule's code."""
    return FAMILIES.get(code[:3], OTHER)


def precedence_of(code: str) -> int:
    """Return the place of a code's family in the order of precedence; last for unknown ones."""
    prefixes = [family.prefix for family in IN_ORDER_OF_PRECEDENCE]
    return prefixes.index(code[:3]) if code[:3] in prefixes else len(prefixes)
