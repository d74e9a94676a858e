"""A submission's text, parsed once: Python tree, CUDA trees, positions."""

from grader.source.cpp import Launch
from grader.source.cuda_tree import cuda_language
from grader.source.declarators import Parameter
from grader.source.extensions import CPP_PRELUDE, CUDA_PRELUDE, Extension
from grader.source.functions import Function, Kernel
from grader.source.parse import parse, read_python
from grader.source.positions import in_sample
from grader.source.scopes import FunctionNode, dotted_name, nodes_under
from grader.source.source import PythonError, Source
from grader.source.units import PythonBinding, Unit

__all__ = [
    "CPP_PRELUDE",
    "CUDA_PRELUDE",
    "Extension",
    "Function",
    "FunctionNode",
    "Kernel",
    "Launch",
    "Parameter",
    "PythonBinding",
    "PythonError",
    "Source",
    "Unit",
    "cuda_language",
    "dotted_name",
    "in_sample",
    "nodes_under",
    "parse",
    "read_python",
]
