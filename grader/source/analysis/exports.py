"""Which host functions of an extension its build call should export."""

import ast

from grader.source import Extension, Function, Source, Unit


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
