"""PRF009: very many threads add to the same address."""

import re
from collections.abc import Iterator

from tree_sitter import Node

from grader.rules import Context, Finding, Source, rule_of
from grader.source import cpp
from grader.source.analysis.kernel_accesses import accesses
from grader.source.divergence import depends_on_thread, varying_variables
from grader.source.nodes import around, names_in, text

ONE_OF = re.compile(r"==|!|%|(?<!&)&(?!&)|<=?\s*\w*\d")
"""Patterns of conditions that admit few threads: `threadIdx.x == 0`, `lane < 8`."""


def check(source: Source, _context: Context) -> Iterator[Finding]:
    """Look for atomics on one address that each thread of a block executes."""
    for unit in source.cuda:
        for kernel in unit.kernels:
            own = varying_variables(kernel.node) | {"threadIdx"}
            for one in accesses(kernel):
                address = one.expr.args[0].node if isinstance(one.expr, cpp.Call) else one.node
                same = one.kind == "atomic" and not own & names_in(address)
                if same and not any(map(_singles_out, around(one.node))):
                    yield RULE.finding(
                        unit.place(one.node),
                        f"the threads of each block add to one and the same element of `{one.parameter}`, one after another; a sum over the "
                        "block first would leave one atomic",
                        kernels=(kernel.name,),
                    )


def _singles_out(node: Node) -> bool:
    """Whether a branch admits only a few threads of a block, unlike a comparison with a size."""
    condition = node.child_by_field_name("condition") if node.type == "if_statement" else None
    few = condition is not None and ONE_OF.search(text(condition))
    return condition is not None and bool(few) and depends_on_thread(condition)


RULE = rule_of(__file__, check)
