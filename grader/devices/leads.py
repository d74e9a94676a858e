"""Which changes of a wrong program are tried first: by what its traces say is wrong, and at which lines."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from grader.records import Dependence, Evidence, Slice
from grader.simulator.changes import Change
from grader.simulator.changes.arguments import Launched
from grader.simulator.changes.reach import Reach
from grader.simulator.changes.values import Values
from grader.simulator.ptx.code import Code

BESIDE = 2
"""How much later those changes come that have nothing to do with what is wrong: as if so much less likely."""
MOST_RIGHT = 0.5
CONDITIONS = ("comparison", "constant", "guard", "argument")
AT_ONCE = 1
"""Up to which prior a change of a launch's arguments comes before all changes of code: there are few of them."""


@dataclass(frozen=True)
class Leads:
    """What is known of why results are wrong."""

    lines: frozenset[int] = frozenset()
    """At which findings stand."""
    tensors: frozenset[str] = frozenset()
    """Of which wrong elements are made of other elements than the reference's."""
    values: bool = False
    """Whether they are made of the elements that they should be made of: then by another formula."""
    outside: bool = False
    """Whether a run went out of bounds, or left elements unwritten: no other formula ends that."""


def leads(lines: frozenset[int], evidence: Iterable[Evidence], *, outside: bool) -> Leads:
    """Return what findings' lines and traces say."""
    details = [one.details for one in evidence]
    other = frozenset(one.tensor for one in details if isinstance(one, Dependence))
    whole = any(one.whole for one in details if isinstance(one, Slice))
    return Leads(lines, other, whole and not other, outside)


class Concerns:
    """Which changes have to do with what is known to be wrong."""

    def __init__(
        self,
        known: Leads,
        codes: Sequence[Code | None],
        launches: Sequence[Launched],
        tensors: Sequence[str],
    ) -> None:
        self._known, self._codes = known, codes
        self._launches, self._tensors = launches, tensors
        self._functions: dict[tuple[int, int], int] = {}

    def of(self, change: Change) -> bool:
        """Whether a change bears on what is known to be wrong."""
        known = self._known
        if change.given or not (known.values or known.tensors or known.outside):
            return True
        function = self._function(change)
        inside = any(function >> at & 1 for at, _ in change.edits)
        return inside if known.tensors or known.outside else not inside

    def may(self, change: Change, right: float) -> bool:
        """Whether a change can put right at all what is known to be wrong, where such a share is right already.

        Where most is, a few accesses want a condition or another bound: any other formula is another one for all.
        """
        if not self._known.outside:
            return True
        return self.of(change) and (right < MOST_RIGHT or change.kind in CONDITIONS)

    def _function(self, change: Change) -> int:
        """Return the positions that decide which elements are taken: of the tensors in question, or of all."""
        key = change.program, change.function
        if key not in self._functions:
            self._functions[key] = self._deciding(*key)
        return self._functions[key]

    def _deciding(self, program: int, number: int) -> int:
        code = self._codes[program]
        if code is None:
            return 0
        function = code.functions[number]
        reach = Reach(Values(code, function))
        wanted = self._pointers.get(function.name, frozenset())
        found = reach.conditions | (0 if code.of_blocks else reach.shared)
        for argument, positions in reach.of_arguments.items():
            if not self._known.tensors or not function.entry or argument in wanted:
                found |= positions
        return found

    @cached_property
    def _pointers(self) -> Mapping[str, frozenset[int]]:
        """Return which arguments of each kernel are the tensors in question, or memory that could hold their elements."""
        found: dict[str, frozenset[int]] = {}
        for launch in self._launches:
            named = {n: self._tensors[m] for n, m in enumerate(launch.memory) if m >= 0}
            unknown = {n for n, m in enumerate(launch.memory) if m == -1}
            mine = {n for n, name in named.items() if name in self._known.tensors} | unknown
            found[launch.kernel] = found.get(launch.kernel, frozenset()) | mine
        return found
