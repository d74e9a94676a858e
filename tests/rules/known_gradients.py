"""What is known in the examples of the rules on gradients: runs that asked for gradients, and what was wrong in them."""

from collections.abc import Mapping

from grader.records import (
    Backward,
    Comparison,
    Context,
    Launch,
    Mismatch,
    Outcome,
    Run,
    Task,
    TensorSpec,
    Workload,
)

ASKED = {
    "plain": Backward(by=("input 1",)),
    "expanded upstream": Backward(by=("input 1",), in_order=False),
    "backward twice": Backward(by=("input 1",), way="twice"),
    "backward without grad": Backward(by=("input 1",), way="without grad"),
}


def context_of_gradients(wrong: Mapping[str, str], *, launches: int = 2) -> Context:
    """Return what is known where these workloads gave wrong results of these names.

    A run with gradients launches so many kernels, and one without launches one.
    """
    x = TensorSpec(shape=(4, 8))
    workloads = tuple(
        Workload(name=name, role="stress", inputs=(x, x, asked)) for name, asked in ASKED.items()
    )
    runs = tuple(
        _run_with_launches(name, 1 if asked.way == "without grad" else launches)
        for name, asked in ASKED.items()
    )
    comparisons = tuple(
        Comparison(
            workload=name,
            role="stress",
            equal=name not in wrong,
            mismatch=Mismatch(kind="values", text="it differs", result=wrong[name])
            if name in wrong
            else None,
        )
        for name in ASKED
    )
    task = Task(name="relu", title="", source="builtin", reference="", workloads=workloads)
    return Context(task=task, outcome=Outcome(runs=runs, comparisons=comparisons))


def _run_with_launches(name: str, launches: int) -> Run:
    launch = Launch(kernel="k", grid=(1, 1, 1), block=(32, 1, 1), shared_bytes=0, count=launches)
    return Run(workload=name, device="sim", status="ran", launches=(launch,))
