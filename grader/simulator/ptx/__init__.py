"""PTX text to a program that the interpreter loads; standard library only, for the guest."""

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
