"""PTX text to a program that the interpreter loads. Standard library only: runs in the guest too."""

from .decode import DecodeError, decode
from .encode import MAGIC, encode
from .program import Function, Location, Parameter, Program, Relocation, Variable

__all__ = [
    "MAGIC",
    "DecodeError",
    "Function",
    "Location",
    "Parameter",
    "Program",
    "Relocation",
    "Variable",
    "decode",
    "encode",
]
