"""From tree-sitter's concrete tree to the small tree of `flow.tree`."""

from grader.source.flow.lowering.program import lower, lower_text, parse_expression
from grader.source.flow.lowering.words import text_of

__all__ = ["lower", "lower_text", "parse_expression", "text_of"]
