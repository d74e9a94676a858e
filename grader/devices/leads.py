"""Priorities of a wrong program's changes, from its traces and findings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from grader.records import Dependence, Edit, Evidence, Finding, Slice
from grader.records.changes import FixedGuard
from grader.simulator.changes import Change
from grader.simulator.changes.arguments import Launched
from grader.simulator.changes.reach import Reach
from grader.simulator.changes.values import Values
from grader.simulator.ptx.code import Code

BESIDE = 2
"""Penalty of changes unrelated to the known defect."""
BRINGS = -1
"""Penalty of changes that bring in the values that never arrived."""
AT_ONCE = 1
"""Largest prior at which a change of a launch's arguments comes before all changes of code, as there are few."""
FORMULAS = ("operand", "divisor", "comparison")
"""Kinds of changes in an address that may still be an error of formula: another tensor of the same form."""
LOST = "lost"
"""The code of evidence that a value was read and never arrived."""


@dataclass(frozen=True)
class Leads:
    """Known facts about the cause of wrong results."""

    lines: frozenset[int] = frozenset()
    """Lines with findings."""
    tensors: frozenset[str] = frozenset()
    """Tensors of which wrong elements use other elements than the reference's."""
    lost: frozenset[str] = frozenset()
    """Tensors whose elements are read but never arrive."""
    values: bool = False
    """Whether wrong elements depend on the right inputs, so that the formula is wrong."""
    caused: bool = False
    """Whether these lines are proven to be the cause, so that only the fix is unknown."""
    proposed: tuple[Edit, ...] = ()
    """Changes proposed by findings."""
    outside: bool = False
    """Whether a run went out of bounds or left elements unwritten, which no other formula fixes."""


def leads(
    findings: Sequence[Finding], evidence: Iterable[Evidence], *, outside: bool, caused: bool
) -> Leads:
    """Return the leads from error findings and traces."""
    errors = [one for one in findings if one.severity == "error"]
    lines = frozenset(one.place.line for one in errors if one.place)
    fixes = (fix.edits for one in errors for fix in one.fixes)
    proposed = tuple(edits[0] for edits in fixes if len(edits) == 1)
    seen = list(evidence)
    other = [(e.code == LOST, e.details.tensor) for e in seen if isinstance(e.details, Dependence)]
    lost = frozenset(tensor for is_lost, tensor in other if is_lost)
    tensors = frozenset(tensor for is_lost, tensor in other if not is_lost)
    whole = any(e.details.whole for e in seen if isinstance(e.details, Slice))
    return Leads(lines, tensors, lost, whole and not other, caused, proposed, outside)


class Concerns:
    """The relation of changes to the known defect."""

    def __init__(
        self,
        known: Leads,
        codes: Sequence[Code | None],
        launches: Sequence[Launched],
        tensors: Sequence[str],
    ) -> None:
        self._known, self._codes = known, codes
        self._launches, self._tensors = launches, tensors
        self._functions: dict[tuple[int, int], _Function | None] = {}

    def beside(self, change: Change) -> int:
        """Return the penalty of a change, by its relation to the known defect."""
        function = self._function(change) if self._known.lost and not change.on_host else None
        if function is not None and function.brings(change):
            return BRINGS if change.prior else 0
        return 0 if self.of(change) else BESIDE

    def of(self, change: Change) -> bool:
        """Whether a change concerns the known defect."""
        known = self._known
        function = None if change.on_host else self._function(change)
        if function is None or not (known.values or known.tensors or known.lost or known.outside):
            return True
        decides = function.decides(change)
        if known.outside or known.tensors:
            return decides
        if known.lost:
            return decides or function.brings(change)
        return not decides or change.kind in FORMULAS

    def may(self, change: Change) -> bool:
        """Whether a change can fix the known defect at all."""
        return not self._known.outside or self.of(change)

    def _function(self, change: Change) -> _Function | None:
        key = change.program, change.function
        if key not in self._functions:
            code = self._codes[change.program]
            self._functions[key] = self._read(code, change.function) if code else None
        return self._functions[key]

    def _read(self, code: Code, number: int) -> _Function:
        """Return the positions in a function that decide which elements are used, of the tensors concerned or of all."""
        function = code.functions[number]
        reach = Reach(Values(code, function))
        known = function.entry and (self._known.tensors or self._known.lost)
        wanted = self._pointers.get(function.name, frozenset()) if known else reach.of_arguments
        deciding = 0 if self._known.values else reach.conditions
        deciding |= 0 if code.of_blocks else reach.shared
        loads = 0
        for argument in set(wanted) & set(reach.of_arguments):
            loads |= reach.accesses[argument]
            deciding |= 0 if self._known.lost else reach.of_arguments[argument]
        return _Function(reach, deciding, loads)

    @cached_property
    def _pointers(self) -> Mapping[str, frozenset[int]]:
        """Return each kernel's arguments that are the tensors concerned, or memory that could hold their elements."""
        asked = self._known.tensors | self._known.lost
        found: dict[str, frozenset[int]] = {}
        for launch in self._launches:
            named = {n: self._tensors[m] for n, m in enumerate(launch.memory) if m >= 0}
            unknown = {n for n, m in enumerate(launch.memory) if m == -1}
            mine = {n for n, name in named.items() if name in asked} | unknown
            found[launch.kernel] = found.get(launch.kernel, frozenset()) | mine
        return found


@dataclass(frozen=True)
class _Function:
    reach: Reach
    deciding: int
    """Positions that decide which elements are used."""
    loads: int
    """Positions that load elements of the tensors concerned."""

    def decides(self, change: Change) -> bool:
        return any(self.deciding >> at & 1 for at, _ in change.edits)

    def brings(self, change: Change) -> bool:
        """Whether a change uses a value loaded from these tensors, or lets it pass."""
        new = {r for _, made in change.edits for one in made for r in self.reach.read_by(one)}
        old = {r for at, _ in change.edits for r in self.reach.read_at(at)}
        guard = change.changed
        chosen = isinstance(guard, FixedGuard) and guard.before == "selp"  # constant
        return chosen or any(self.reach.behind_one(one) & self.loads for one in new - old)
