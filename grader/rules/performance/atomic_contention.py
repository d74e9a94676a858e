"""PRF009: very many threads add to the same address."""

from collections.abc import Iterator

from grader.records import Context, Finding
from grader.rules.page_file import rule_of
from grader.source import Source, cpp
from grader.source.analysis.kernel_accesses import accesses
from grader.source.cuda_code import names_in
from grader.source.divergence import all_arrive, varying_variables


def check(source: Source, _context: Context) -> Iterator[Finding]:
    """Look for atomics on one address that each thread of a block comes to."""
    for unit in source.cuda:
        for kernel in unit.kernels:
            own = varying_variables(kernel.node) | {"threadIdx"}
            for one in accesses(kernel):
                address = one.expr.args[0].node if isinstance(one.expr, cpp.Call) else one.node
                same = one.kind == "atomic" and not own & names_in(address)
                if same and all_arrive(one.node):
                    yield RULE.finding(
                        unit.place(one.node),
                        f"the threads of each block add to one and the same element of `{one.parameter}`, one after another; a sum over the "
                        "block first would leave one atomic",
                        kernels=(kernel.name,),
                    )


RULE = rule_of(__file__, check)
