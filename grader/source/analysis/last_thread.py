"""Values of a kernel's numbers in the last thread of a launch, in the last iterations: in most kernels the largest."""

from typing import Any

from grader.source import cpp
from grader.source.analysis.cases import Case
from grader.source.flow.evaluate import Evaluator, Scope


class LastThread(Evaluator):
    """Evaluates the expressions of one launch's kernel."""

    def __init__(self, case: Case) -> None:
        super().__init__(case.unit)
        names = [one.name for one in case.function.parameters]
        given: dict[str, Any] = dict(zip(names, case.launch.arguments, strict=False))
        for dim, index, sizes in (
            ("gridDim", "blockIdx", case.launch.grid),
            ("blockDim", "threadIdx", case.launch.block),
        ):
            given |= {dim: sizes, index: tuple(n - 1 if n is not None else None for n in sizes)}
        self._scope = Scope(case.function.code, given, {"scalar_t": "float"})
        parts = cpp.walk(case.function.code)
        self._loops = [one for one in parts if isinstance(one, cpp.Loop)]

    def number(self, expr: cpp.Expr) -> int | None:
        """Return an integer value; None where unknown."""
        value = self.value(expr, self._scope, int(expr.node.start_byte))
        return value if isinstance(value, int) else None

    def value_of_name(self, name: str, scope: Scope, at: int) -> Any:
        """Return the value of a name: for a loop's counter, its bound."""
        for loop in self._loops:
            match loop.test:
                case cpp.Binary(op="<" | "<=", left=cpp.Name(id=counter), right=bound):
                    if counter == name and loop.body.node.start_byte <= at < loop.node.end_byte:
                        return self.value(bound, scope, int(loop.node.start_byte))
        return super().value_of_name(name, scope, at)
