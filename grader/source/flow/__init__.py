"""A small dataflow over CUDA functions: what a block of threads does, told from the text alone."""

from grader.source.flow.analysis import EVEN, LONG, ODD, USUAL, Flow, flow
from grader.source.flow.host import HostRun
from grader.source.flow.memory import Region, Tensor
from grader.source.flow.sizes import Sizes
from grader.source.flow.trace import Access, Event, Launch, Walk

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
    "Region",
    "Sizes",
    "Tensor",
    "Walk",
    "flow",
]
