"""PRF014: constants without f make float code compute in double."""

from collections.abc import Iterator

from tree_sitter import Node

from grader.records import Context, Finding, Fix
from grader.rules.page_file import rule_of
from grader.source import Source, cpp
from grader.source.analysis.walks import Case, cases
from grader.source.code_edits import fix
from grader.source.cuda_code import descendants, one_line, text
from grader.source.flow import Event
from grader.source.flow.loops import assigned_in


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Look for operations of a float with a double, and for slow forms in loops."""
    seen: set[tuple[str, int]] = set()
    for case in cases(source, context):
        for event in case.events("double-math"):
            if (case.kernel, case.line(event.node)) not in seen:
                seen.add((case.kernel, case.line(event.node)))
                where = " for every element" if event.value else ""
                yield RULE.finding(
                    case.place(event.node),
                    f"`{one_line(event.node, 50)}` computes in double precision{where}: a constant without `f` (or a double) meets a float",
                    fixes=_suffix(case, event),
                    kernels=(case.kernel,),
                )
        for node, said in list(_slow(case))[:1] if (case.kernel, 0) not in seen else ():
            message = f"`{one_line(node, 40)}` {said}"
            yield RULE.finding(case.place(node), message, kernels=(case.kernel,))
        seen.add((case.kernel, 0))


def _suffix(case: Case, event: Event) -> tuple[Fix, ...]:
    numbers = [n for n in descendants(event.node, "number_literal") if text(n)[-1] not in "fFlLxX"]
    real = [n for n in numbers if "." in text(n) or "e" in text(n).lower()]
    return fix("compute in float", [case.unit.edit(n.end_byte, n.end_byte, "f") for n in real])


def _slow(case: Case) -> Iterator[tuple[Node, str]]:
    """Yield the powers of two and the divisions by something constant in loops."""
    for loop in cpp.walk(case.walk.kernel.code):
        for part in cpp.walk(loop.body) if isinstance(loop, cpp.Loop) else ():
            divisor = _divisor(part)
            match part:
                case cpp.Call(name="pow" | "powf", args=(_, cpp.Number(value=2)), node=node):
                    yield node, "is a slow way to write a product"
                case _ if divisor is not None and isinstance(loop, cpp.Loop):
                    if divisor.id not in assigned_in(loop):
                        same = f"divides every element by `{divisor.id}`, which stays the same"
                        yield part.node, f"{same}: multiply by its reciprocal"


def _divisor(part: cpp.Part) -> cpp.Name | None:
    """Return what an element is divided by."""
    match part:
        case cpp.Binary(op="/", left=left, right=cpp.Name() as name):
            return name if any(isinstance(p, cpp.Subscript) for p in cpp.walk(left)) else None
        case cpp.Assign(op="/=", target=cpp.Subscript(), value=cpp.Name() as name):
            return name
    return None


RULE = rule_of(__file__, check)
