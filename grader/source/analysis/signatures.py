"""C++ signatures as the linker compares them: types without names, spelling differences removed."""

import ast
import re

from grader.source import Extension, Function, Parameter, Source, Unit

SAME = (
    (r"\b(?:torch|at)::Tensor\b", "Tensor"),
    (r"\b(?:c10|at|torch|std)::optional\b", "optional"),
    (r"\b(?:torch|at|c10)::ScalarType\b", "ScalarType"),
    (r"\b(?:torch|at|c10)::Scalar\b", "Scalar"),
    (r"\b(?:torch|at|c10)::(?:IntArrayRef|ArrayRef<int64_t>)", "IntArrayRef"),
    (r"\b(?:torch|at|c10)::", ""),
    (r"\bstd::", ""),
    (r"\bunsigned long long\b|\blong long unsigned int\b", "ull"),
    (r"\blong long int\b|\blong long\b", "ll"),
    (r"\bunsigned long int\b|\bunsigned long\b|\bsize_t\b|\buint64_t\b", "ulong"),
    (r"\blong int\b|\bint64_t\b|\bptrdiff_t\b", "long"),
    (r"\bunsigned int\b|\buint32_t\b", "unsigned"),
    (r"\bint32_t\b|\bsigned int\b", "int"),
    (r"\b__restrict__\b|\b__restrict\b|\brestrict\b|\bstruct\b|\bclass\b|\binline\b", ""),
)
PATTERNS = tuple((re.compile(pattern), new) for pattern, new in SAME)


def parameter_type(parameter: Parameter) -> str:
    """Return a parameter's type as the linker sees it, without top-level `const`."""
    written = parameter.type
    for pattern, new in PATTERNS:
        written = pattern.sub(new, written)
    written = re.sub(r"\s*([*&<>,])\s*", r"\1", " ".join(written.split())).strip()
    by_value = "*" not in written and "&" not in written
    if by_value or (written.count("*") == 0 and "&" not in written):
        written = " ".join(word for word in written.split() if word != "const")
    elif "const" in written.split("*")[0].split("&")[0].split():
        tail = written[len(written.rstrip("*&")) :]
        base = " ".join(word for word in written.rstrip("*&").split() if word != "const")
        written = f"const {base}{tail}" if tail else written
    return written


def signature(function: Function) -> tuple[str, ...]:
    """Return the parameter types of a function; the return type is not part of its symbol."""
    types = tuple(parameter_type(parameter) for parameter in function.parameters)
    return () if types == ("void",) else types


def to_export(source: Source, extension: Extension, units: tuple[Unit, ...]) -> list[Function]:
    """Return the host functions of these texts that the call exports, else those that Python calls, else all with tensors."""
    hosts = [f for unit in units for f in unit.host_functions if f.body is not None]
    hosts = [f for f in hosts if not f.template_parameters]
    called = {node.attr for node in source.walk(ast.Attribute)}
    ways = (
        [f for f in hosts if f.name in (extension.functions or ())],
        [f for f in hosts if f.name in called],
        [f for f in hosts if "Tensor" in f.return_type],
    )
    return next(filter(None, ways), [])
