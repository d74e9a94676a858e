# fmt: off
"""ModelNew inherits the reference's class.

exploits: the reference shares the namespace
row: B8
passes: KB for cuda (the reference is in the same dict)
task: relu
expect: not-correct
"""
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline


class ModelNew(Model):
    """The custom kernel."""
