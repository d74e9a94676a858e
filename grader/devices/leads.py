"""Which changes of a wrong program are tried first: by what its traces say is wrong, and at which lines."""

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
"""How much later those changes come that have nothing to do with what is wrong: as if so much less likely."""
BRINGS = -1
"""The same for those that bring in what never arrived."""
AT_ONCE = 1
"""Up to which prior a change of a launch's arguments comes before all changes of code: there are few of them."""
FORMULAS = ("operand", "divisor", "comparison")
"""What a formula can have wrong though it is in the address of an element: another tensor of the same form."""
LOST = "lost"
"""The code of evidence that a value was read and never arrived."""


@dataclass(frozen=True)
class Leads:
    """What is known of why results are wrong."""

    lines: frozenset[int] = frozenset()
    """At which findings stand."""
    tensors: frozenset[str] = frozenset()
    """Of which wrong elements are made of other elements than the reference's."""
    lost: frozenset[str] = frozenset()
    """Of which elements are read that never arrive."""
    values: bool = False
    """Whether they are made of the elements that they should be made of: then by another formula."""
    caused: bool = False
    """Whether these lines are proven to be the cause: only what has to stand there is asked."""
    proposed: tuple[Edit, ...] = ()
    """What findings propose to change."""
    outside: bool = False
    """Whether a run went out of bounds, or left elements unwritten: no other formula ends that."""


def leads(
    findings: Sequence[Finding], evidence: Iterable[Evidence], *, outside: bool, caused: bool
) -> Leads:
    """Return what findings that are errors and traces say."""
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
        self._functions: dict[tuple[int, int], _Function | None] = {}

    def beside(self, change: Change) -> int:
        """Return how much less likely than its kind a change is, by what is known to be wrong."""
        function = self._function(change) if self._known.lost and not change.on_host else None
        if function is not None and function.brings(change):
            return BRINGS if change.prior else 0
        return 0 if self.of(change) else BESIDE

    def of(self, change: Change) -> bool:
        """Whether a change bears on what is known to be wrong."""
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
        """Whether a change can put right at all what is known to be wrong."""
        return not self._known.outside or self.of(change)

    def _function(self, change: Change) -> _Function | None:
        key = change.program, change.function
        if key not in self._functions:
            code = self._codes[change.program]
            self._functions[key] = self._read(code, change.function) if code else None
        return self._functions[key]

    def _read(self, code: Code, number: int) -> _Function:
        """Return what decides in a function which elements are taken: of the tensors in question, or of all."""
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
        """Return which arguments of each kernel are the tensors in question, or memory that could hold their elements."""
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
    """Positions that decide which elements are taken."""
    loads: int
    """Positions that load elements of the tensors in question."""

    def decides(self, change: Change) -> bool:
        return any(self.deciding >> at & 1 for at, _ in change.edits)

    def brings(self, change: Change) -> bool:
        """Whether a change makes something of a value that is loaded of these tensors, or lets it through."""
        new = {r for _, made in change.edits for one in made for r in self.reach.read_by(one)}
        old = {r for at, _ in change.edits for r in self.reach.read_at(at)}
        guard = change.changed
        chosen = isinstance(guard, FixedGuard) and guard.before == "selp"  # one side always
        return chosen or any(self.reach.behind_one(one) & self.loads for one in new - old)
