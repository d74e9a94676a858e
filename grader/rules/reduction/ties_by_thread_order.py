"""RED006: of equal values the reduction keeps whichever thread comes first, not the smallest index."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from grader.records import Context, Evidence, Finding
from grader.records.observed import ran_right, wrong_results
from grader.rules.rule import Example, Rule
from grader.source.code_edits import fix, replace_node
from grader.source.cuda_code import cuda_code, descendants, one_line, text
from grader.source.statements import enclosing_loops

if TYPE_CHECKING:
    from tree_sitter import Node

    from grader.source import Function, Source, Unit

STRICT = {">": ">", ">=": ">", "<": "<", "<=": "<"}
HALVING = (">>=", "<<=", "/=", "*=", "/ 2", "* 2", ">> 1", "<< 1")
"""What steps a tree's offset, from step to step."""


@dataclass(frozen=True)
class Exchange:
    """A comparison of two threads' best values that also takes over where the better one stands."""

    condition: Node
    """The comparison, without its parentheses."""
    left: str
    operator: str
    right: str
    theirs: str
    """The other thread's index."""
    own: str

    @property
    def with_index(self) -> str:
        """The comparison that lets the smaller index decide between equal values."""
        return (
            f"{self.left} {self.operator} {self.right}"
            f" || ({self.left} == {self.right} && {self.theirs} < {self.own})"
        )


def check(source: Source, context: Context) -> Iterator[Finding]:
    """Look for exchanges of a value and its index that compare the values alone."""
    wrong = wrong_results(context)
    for unit in source.cuda:
        for function in unit.functions:
            if function.runs == "host" or ran_right(context, function.name):
                continue
            found = list(exchanges(unit, function))
            if found:
                yield _finding(unit, found, wrong)


def _finding(unit: Unit, found: list[Exchange], wrong: tuple[Evidence, ...]) -> Finding:
    first = found[0]
    edits = [replace_node(unit, each.condition, each.with_index) for each in found]
    return RULE.finding(
        unit.place(first.condition),
        f"`{one_line(first.condition)}` keeps, of equal values, the one of the thread that comes first, "
        f"whatever index it has; torch's argmax and argmin give the first index, so `{first.theirs}` and "
        f"`{first.own}` must decide there",
        severity="error" if wrong else "warning",
        evidence=wrong[:2],
        fixes=fix("let the smaller index decide between equal values", edits),
    )


def exchanges(unit: Unit, function: Function) -> Iterator[Exchange]:
    """Yield the comparisons between threads that take over a value with its index."""
    shared = _shared_names(function.node)
    for node in cuda_code(unit).under(function.node, "if_statement"):
        condition = _comparison(node)
        body = node.child_by_field_name("consequence")
        if condition is None or body is None:
            continue
        left, right = (text(condition.child_by_field_name(side)) for side in ("left", "right"))
        pairs = [
            (text(item.child_by_field_name("left")), text(item.child_by_field_name("right")))
            for item in descendants(body, "assignment_expression")
            if text(item.child_by_field_name("operator")) == "="
        ]
        values = [pair for pair in pairs if set(pair) == {left, right}]
        places = [pair for pair in pairs if pair not in values]
        if len(pairs) != 2 or len(values) != 1 or "shfl" in places[0][1]:
            continue
        if any(True for _ in descendants(body, "declaration")):
            continue
        if _between_threads(node, values[0][1], function.node, shared):
            operator = STRICT[text(condition.child_by_field_name("operator"))]
            yield Exchange(condition, left, operator, right, places[0][1], places[0][0])


def _comparison(node: Node) -> Node | None:
    clause = node.child_by_field_name("condition")
    inner = clause.child_by_field_name("value") if clause is not None else None
    if inner is None or inner.type != "binary_expression":
        return None
    return inner if text(inner.child_by_field_name("operator")) in STRICT else None


def _between_threads(node: Node, theirs: str, function: Node, shared: set[str]) -> bool:
    """Whether the value that is taken over was another thread's.

    A thread's own walk over its elements goes up, where the first of equal ones is right.
    """
    loop = next(enclosing_loops(node), None)
    if loop is None:
        return False
    came = [theirs, *_made_from(function, theirs)]
    others = any("shfl" in words for words in came)
    kept = any(words.split("[")[0].strip() in shared and "[" in words for words in came)
    step = text(loop.child_by_field_name("update"))
    return others or (kept and (any(sign in step for sign in HALVING) or "++" in step))


def _made_from(function: Node, name: str) -> Iterator[str]:
    """Yield what a variable is declared with or set to."""
    for item in descendants(function, "init_declarator"):
        if text(item.child_by_field_name("declarator")) == name:
            yield text(item.child_by_field_name("value"))


def _shared_names(function: Node) -> set[str]:
    """Return the names of a function's shared arrays, and of pointers made from them."""
    names: set[str] = set()
    for item in descendants(function, "declaration"):
        made = {
            text(inner)
            for declarator in item.children_by_field_name("declarator")
            for inner in list(descendants(declarator, "identifier"))[:1]
        }
        words = text(item)
        if "__shared__" in words or any(name in words for name in names):
            names |= made
    return names


KERNEL = """
__global__ void first_largest(const float* x, long long* y, int n) {
    __shared__ float value[256];
    __shared__ long long place[256];
    int t = threadIdx.x;
    float best = -INFINITY;
    long long at = 0;
    for (int i = t; i < n; i += blockDim.x) {
        if (x[blockIdx.x * n + i] > best) { best = x[blockIdx.x * n + i]; at = i; }
    }
    value[t] = best;
    place[t] = at;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (t < s) {
            if (COMPARED) {
                value[t] = value[t + s];
                place[t] = place[t + s];
            }
        }
        __syncthreads();
    }
    if (t == 0) y[blockIdx.x] = place[0];
}
torch::Tensor run(torch::Tensor x) {
    auto y = torch::empty({x.size(0)}, x.options().dtype(torch::kLong));
    first_largest<<<x.size(0), 256>>>(x.data_ptr<float>(), (long long*)y.data_ptr<int64_t>(), x.size(1));
    return y;
}
"""

RULE = Rule(
    code="RED006",
    name="ties-by-thread-order",
    severity="error",
    summary="Where two threads hold equal values, the index that is kept depends on which thread comes first, "
    "not on which index is smaller.",
    why="A thread that walks over every 256th element has indices that lie among those of others. Of equal "
    "values torch's `argmax` and `argmin` return the first index, so an exchange between threads must compare "
    "the indices too: `a > b || (a == b && i < j)`. Among thousands of random float32 values in [0, 1) equal "
    "largest ones are common: there are only 2^24 of them.",
    bad=(
        KERNEL.replace("COMPARED", "value[t + s] > value[t]"),
        Example(
            KERNEL.replace("COMPARED", "value[t] < value[t + s]"),
            Context(evidence=(Evidence(kind="mismatch", code="values", text="a few are wrong"),)),
        ),
    ),
    good=(
        KERNEL.replace(
            "COMPARED",
            "value[t + s] > value[t] || (value[t + s] == value[t] && place[t + s] < place[t])",
        ),
    ),
    detects=("text", "evidence"),
    guards="A thread's own walk over its elements is left alone: it goes up, so the first of equal values is "
    "kept. An error where results were wrong, a warning before anything ran, silent where results were right.",
    fix="Lets the smaller index decide between equal values, in every exchange of the kernel.",
    check=check,
    conditions="equal values in different threads of a row",
)
