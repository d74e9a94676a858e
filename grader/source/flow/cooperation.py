"""Which kernels let their threads work together: by shared memory, barriers or exchanges in a warp."""

from __future__ import annotations

from collections.abc import Iterator

from grader.source.flow.program import Function, Program
from grader.source.flow.tree import Call, Declare, Expr, Name, Stmt, walk
from grader.source.flow.warps import SHUFFLES, VOTES

MEETINGS = frozenset(
    {"__activemask", "coalesced_threads", "this_grid", "this_thread_block", "tiled_partition"}
)
WORDS = ("sync", "Reduce", "Scan", "Exchange", "group")
"""Parts of the names of what makes threads meet, or is bound to shared storage."""


def cooperates(program: Program, kernel: Function) -> bool:
    """Whether a kernel, or what it calls, has shared memory or a call that makes threads meet.

    One that surely doesn't needs no walk that follows whose data goes where.
    """
    return any(_meets(part) for part in reached(program, kernel))


def reached(program: Program, kernel: Function) -> Iterator[Expr | Stmt]:
    """Yield the parts of a kernel, of the functions it calls and of the macros it uses."""
    waiting: list[Expr | Stmt] = [kernel.body]
    seen: set[str] = set()
    while waiting:
        for part in walk(waiting.pop()):
            yield part
            name = (
                part.name if isinstance(part, Call) else part.id if isinstance(part, Name) else ""
            )
            if name and name not in seen:
                seen.add(name)
                waiting += _behind(program, name)


def _behind(program: Program, name: str) -> Iterator[Expr | Stmt]:
    function, macro = program.named(name), program.macros.get(name)
    if function is not None:
        yield function.body
    if macro is not None and macro.expr is not None:
        yield macro.expr


def _meets(part: Expr | Stmt) -> bool:
    if isinstance(part, Call):
        name = part.name
        return (
            name in SHUFFLES
            or name in VOTES
            or name in MEETINGS
            or any(word in name for word in WORDS)
        )
    return isinstance(part, Declare) and part.shared
