"""Host code followed from its arguments to its launches, told from the text alone."""

from grader.source.flow.analysis import EVEN, LONG, ODD, USUAL, Flow, flow
from grader.source.flow.host import HostRun
from grader.source.flow.launch import Launch
from grader.source.flow.memory import Region, Tensor
from grader.source.flow.sizes import Sizes

__all__ = [
    "EVEN",
    "LONG",
    "ODD",
    "USUAL",
    "Flow",
    "HostRun",
    "Launch",
    "Region",
    "Sizes",
    "Tensor",
    "flow",
]
