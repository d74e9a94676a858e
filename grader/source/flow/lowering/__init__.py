"""From tree-sitter's concrete tree to the small tree of `flow.tree`."""

from grader.source.flow.lowering.program import lower, lower_text, parse_expression

__all__ = ["lower", "lower_text", "parse_expression"]
