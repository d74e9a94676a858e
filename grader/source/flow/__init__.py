"""Static analysis of host code, from its arguments to its launches, for one set of sizes."""

from grader.source.flow.analysis import EVEN, ODD, USUAL, Flow, flow
from grader.source.flow.host import HostRun, Launch, Sizes
from grader.source.flow.tensors import Tensor

__all__ = ["EVEN", "ODD", "USUAL", "Flow", "HostRun", "Launch", "Sizes", "Tensor", "flow"]
