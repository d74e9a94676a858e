"""Clues from evidence to the place and kind of a slip: suspect lines, and likelier changes."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from grader.diagnose import Program
from grader.records import Counterfactual, Dependence, Evidence, Mismatch, Slice
from grader.repair.candidates.candidate import Candidate, Touches

SUSPECT = 0.5
"""Factors on the cost of a change on a line that evidence or a finding names, and where evidence makes it likelier."""
TRACED = 0.3
"""The same on the line to which a run followed the wrong elements' values."""
PROVEN = 0.12
"""Factor on the line of a right counterfactual run."""
ORIGIN = 0.65
"""Factor on a line that computes a wrong element, or assigns a name used on such a line."""
CONSEQUENCE = 0.75
"""Factor on a line at which only a consequence was seen."""
VAGUE = ("NUM001", "MEM008", "MEM011")
"""Rules that see a wrong result or access, and not what causes it."""
RARE = 1.5
"""Factor for a change whose slip would show other evidence."""
SHOWN: Mapping[Touches, frozenset[str]] = {"sync": frozenset({"race", "race-volatile", "global-race"})}  # fmt: skip
"""Changes of which the simulator would show the need."""
POINTS_AT: Mapping[str, tuple[Touches, ...]] = {
    code: tuple(touches.split())
    for code, touches in tomllib.loads(Path(__file__).with_name("points_at.toml").read_text("utf-8")).items()
}  # fmt: skip
"""Kinds of slips that each kind of observation makes likelier."""


@dataclass(frozen=True)
class Clues:
    """The evidence about one program, for the search among small changes."""

    program: Program
    workload: str = ""
    """The workload that the change must make right; empty for all."""

    @cached_property
    def lines(self) -> frozenset[int]:
        """Lines that an error or evidence names as the cause."""
        errors = (item for item in self.program.findings if item.severity == "error")
        places = [item.place for item in errors if item.rule not in VAGUE]
        places += [item.place for item in self._seen]
        return self.traced | frozenset(place.line for place in places if place is not None)

    @cached_property
    def traced(self) -> frozenset[int]:
        """Lines in the slices of wrong elements."""
        found = (f for f in self.program.findings if f.confidence == "proven")
        followed = [f for f in found if any(i.kind == "provenance" for i in f.evidence)]
        places = [f.place for f in followed] + [i.place for f in followed for i in f.evidence if isinstance(i.details, Dependence)]  # fmt: skip
        return frozenset(place.line for place in places if place is not None)

    @cached_property
    def consequences(self) -> frozenset[int]:
        """Lines at which a consequence was seen."""
        places = (item.place for item in self.program.findings if item.rule in VAGUE)
        return frozenset(place.line for place in places if place is not None)

    @cached_property
    def _seen(self) -> tuple[Evidence, ...]:
        runs = (run for run in self.program.evaluation.runs if run.workload not in self._beside)
        build = self.program.evaluation.build
        refused = build.errors if build is not None else ()
        return (*refused, *(item for run in runs for item in run.evidence))

    @cached_property
    def _beside(self) -> frozenset[str]:
        """The workloads that don't decide, if the one to make right does, since their evidence has other causes."""
        compared = self.program.evaluation.comparisons
        beside = frozenset(one.workload for one in compared if not one.decides)
        return frozenset() if self.workload in beside | {""} else beside

    @cached_property
    def _mismatches(self) -> tuple[Mismatch, ...]:
        compared = self.program.evaluation.comparisons
        asked = (c for c in compared if not self.workload or c.workload == self.workload)
        return tuple(c.mismatch for c in asked if c.mismatch is not None)

    @cached_property
    def _slices(self) -> tuple[Slice, ...]:
        probes = (item.details for item in self.program.evaluation.probes)
        return tuple(details for details in probes if isinstance(details, Slice))

    @cached_property
    def proven(self) -> frozenset[int]:
        """Lines where a small change made a run right."""
        changed = (
            i for i in self.program.evaluation.probes if isinstance(i.details, Counterfactual)
        )
        return frozenset(item.place.line for item in changed if item.place is not None)

    @cached_property
    def on_the_way(self) -> frozenset[int]:
        """Lines that compute a wrong element, and whose value is no intermediate value of the reference."""
        lines = ((one, line) for one in self._slices for line in one.computed)
        return frozenset(line for one, line in lines if line not in one.right)

    @cached_property
    def stored(self) -> frozenset[int]:
        """Lines at which wrong elements are stored."""
        return frozenset(one.stored for one in self._slices)

    @cached_property
    def codes(self) -> frozenset[str]:
        """Codes of the evidence."""
        patterns = (pattern for mismatch in self._mismatches for pattern in mismatch.patterns)
        every = (*self._seen, *patterns, *self.program.evaluation.probes)
        return frozenset(item.code for item in every)

    @cached_property
    def of_shapes(self) -> bool:
        """Whether a result has a wrong shape, or the shapes of blocks don't match."""
        wrong = (c.mismatch for c in self.program.evaluation.comparisons if c.mismatch)
        return "incompatible-shapes" in self.codes or any(one.kind == "shape" for one in wrong)

    @cached_property
    def host_alone(self) -> bool:
        """Whether no kernel is to blame: none began, or only the shape of the result is wrong."""
        runs = [r for r in self.program.evaluation.runs if self.workload in {"", r.workload}]
        ended = any(run.status == "raised" for run in runs)
        nothing_ran = ended and not any(run.launches for run in runs)
        shapes = [mismatch.kind == "shape" for mismatch in self._mismatches]
        return nothing_ran or (bool(shapes) and all(shapes))

    @cached_property
    def _pointed_at(self) -> frozenset[Touches]:
        return frozenset(one for code in self.codes for one in POINTS_AT.get(code, ()))

    def likelihood(self, one: Candidate, origins: frozenset[int]) -> float:
        """Return the factor on the cost of a change; `origins` are the lines that assign the names used on suspect lines."""
        touches, lines = one.touches, one.lines
        factor = 1.0
        if self._pointed_at:
            factor = SUSPECT if touches in self._pointed_at else RARE
        if self._would_show(touches):
            factor *= RARE * RARE
        if lines & self.proven:
            return factor * PROVEN
        if lines & self.lines:
            return factor * (TRACED if lines & self.traced else SUSPECT)
        if lines & (self.on_the_way | origins):
            return factor * ORIGIN
        return factor * (CONSEQUENCE if lines & self.consequences else 1.0)

    def _would_show(self, touches: Touches) -> bool:
        """Whether a run on the simulator would have shown that such a change is needed, and didn't."""
        ran = any(run.status == "ran" for run in self.program.evaluation.runs)
        simulated = ran and self.program.evaluation.device == "sim"
        return simulated and touches in SHOWN and not self.codes & SHOWN[touches]
