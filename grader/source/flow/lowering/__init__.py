"""From tree-sitter's concrete tree to the small tree of `flow.tree`."""

from grader.source.flow.lowering.program import lower, parse_expression

__all__ = ["lower", "parse_expression"]
