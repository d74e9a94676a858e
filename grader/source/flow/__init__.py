"""One thread followed through CUDA functions: what it does, told from the text alone."""

from grader.source.flow.analysis import EVEN, LONG, ODD, USUAL, Flow, flow
from grader.source.flow.host import HostRun
from grader.source.flow.memory import Region, Tensor
from grader.source.flow.sizes import Sizes
from grader.source.flow.trace import Access, Event, Launch, Meeting, Walk

__all__ = [
    "EVEN",
    "LONG",
    "ODD",
    "USUAL",
    "Access",
    "Event",
    "Flow",
    "HostRun",
    "Launch",
    "Meeting",
    "Region",
    "Sizes",
    "Tensor",
    "Walk",
    "flow",
]
