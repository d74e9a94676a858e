"""Tasks with gradients: the reference gives them everywhere, right kernels in torch pass, mistakes of each kind are found.

Programs are torch here; each is a `torch.autograd.Function`, as an answer writes it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
from torch.func import functional_call

from grader.guest.backward import Caller
from grader.judge import Expected, References, compare, make_inputs
from grader.records import DECIDING, Backward, Comparison, Task, TensorSpec, Workload
from grader.repair.with_gradients import formulas, gradient_reference
from grader.tasks import builtin_tasks, task_named
from grader.tasks.backward import RESULTS

from .programs import SEED, Output, Outputs, construct

torch.set_num_threads(1)
NAMES = sorted(RESULTS)


def results(
    caller: Any, given: tuple[Any, ...], *, double: bool = False
) -> tuple[np.ndarray[Any, Any], ...]:
    tensors = [torch.from_numpy(np.array(v)) if isinstance(v, np.ndarray) else v for v in given]
    if double:
        tensors = [
            t.double() if isinstance(t, torch.Tensor) and t.is_floating_point() else t
            for t in tensors
        ]
    with torch.no_grad():
        return tuple(t.detach().numpy() for t in caller(*tensors))


def judged(task: Task, workload: Workload, change: Change | None = None) -> Comparison:
    """Compare the reference, or a program that is it with changed gradients, with the reference on a workload."""
    given = make_inputs(task, workload, SEED)
    natives = results(Caller(construct(task, workload, SEED), exact=True), given)
    exact = Caller(construct(task, workload, SEED).double(), exact=True)
    exacts = results(exact, given, double=True)
    asked = workload.backward
    gradients = natives[len(natives) - len(asked.names) :] if asked else ()
    if workload.role == "nominal":
        assert all(array.any() for array in gradients), workload.name
    model = construct(task, workload, SEED)
    program = Caller(model, call=partial(by_function, model, change))
    arrays = natives if change is None else results(program, given)
    known = References(
        task.name,
        SEED,
        {workload.name: Expected(workload.name, exacts, natives, "tuple")},
        {},
        {workload.name: given},
    )
    found = tuple(Output(array) for array in arrays)
    return compare(task, workload, known, Outputs(found, "tuple"))


Change = tuple[Callable[[torch.Tensor], torch.Tensor], Callable[[list[Any]], list[Any]]]
"""What a program makes of an upstream gradient, and of the gradients."""


class ByFunction(torch.autograd.Function):
    """The reference as an answer writes it: its gradients come from a backward of its own."""

    @staticmethod
    def forward(ctx: Any, model: Any, change: Change, *given: Any) -> Any:
        ctx.model, ctx.change, ctx.given = model, change, given
        return model(*given[: ctx.model.arguments])

    @staticmethod
    def backward(ctx: Any, *upstream: torch.Tensor) -> Any:
        with torch.enable_grad():
            leaves = [
                v.detach().requires_grad_(v.is_floating_point()) if torch.is_tensor(v) else v
                for v in ctx.given
            ]
            names = [name for name, _ in ctx.model.named_parameters()]
            held = dict(zip(names, leaves[ctx.model.arguments :], strict=True))
            found = functional_call(ctx.model, held, tuple(leaves[: ctx.model.arguments]))
            real = found if isinstance(found, tuple) else (found,)
            by = [v for v in leaves if torch.is_tensor(v) and v.requires_grad]
            flowing = [ctx.change[0](g) for g in upstream]
            made = ctx.change[1](list(torch.autograd.grad(real, by, flowing, allow_unused=True)))
        left = iter(made)
        wanted = [torch.is_tensor(v) and v.is_floating_point() for v in ctx.given]
        return None, None, *(next(left) if one else None for one in wanted)


def by_function(model: Any, change: Change, *given: Any) -> Any:
    model.arguments = len(given)
    return ByFunction.apply(model, change, *given, *model.parameters())


def as_it_is(value: Any) -> Any:
    return value


def in_memory_order(gradient: torch.Tensor) -> torch.Tensor:
    """Return what a kernel reads that takes a gradient for contiguous; nothing lies past its end."""
    held = torch.zeros(gradient.numel(), dtype=gradient.dtype)
    size = min(held.numel(), gradient.untyped_storage().nbytes() // gradient.element_size())
    held[:size] = gradient.as_strided((size,), (1,))
    return held.reshape(gradient.shape)


RIGHT: Change = (as_it_is, as_it_is)
MISTAKES: dict[str, Change] = {
    "an upstream gradient of ones": (torch.ones_like, as_it_is),
    "taken for contiguous": (in_memory_order, as_it_is),
    "none comes": (as_it_is, lambda gradients: [None for _ in gradients]),
    "twice as much": (as_it_is, lambda gradients: [2 * g for g in gradients]),
}


@pytest.mark.parametrize("name", NAMES)
def test_the_reference_passes_and_gives_every_gradient(name: str) -> None:
    task = task_named(f"{name}-backward", None)
    assert task.full is not None
    assert task.full.backward
    assert len({w.name for w in task.workloads}) == len(task.workloads)
    for workload in [w for w in task.judged if w.role in {"general", "nominal"}]:
        comparison = judged(task, workload)
        assert comparison.equal, (workload.name, comparison.mismatch)
        assert comparison.decides, workload.name


@pytest.mark.parametrize("name", NAMES)
def test_a_right_backward_passes_and_each_mistake_is_found(name: str) -> None:
    task = task_named(f"{name}-backward", None)
    deciding = [w for w in task.judged if w.role in DECIDING]
    small = sorted(deciding, key=lambda w: w.role == "nominal")
    assert all(judged(task, w, RIGHT).equal for w in small)
    ranks = [len(s.shape) for s in upstream_of(small[0])]
    for mistake, change in MISTAKES.items():
        if mistake != "taken for contiguous" or max(ranks):
            assert any(not judged(task, w, change).equal for w in small), mistake


def upstream_of(workload: Workload) -> list[TensorSpec]:
    asked = workload.backward
    assert asked
    given = workload.inputs[-1 - asked.upstream : -1]
    return [one for one in given if isinstance(one, TensorSpec)]


@pytest.mark.parametrize("name", NAMES)
def test_it_is_asked_in_all_ways(name: str) -> None:
    task = task_named(f"{name}-backward", None)
    asked = [w.backward for w in task.judged if isinstance(w.backward, Backward)]
    assert len(asked) == len(task.judged)
    assert {one.way for one in asked} == {"once", "twice", "without grad"}
    several = len(asked[0].by) > 1
    assert several == any(len(one.by) < len(asked[0].by) for one in asked)


def test_a_task_without_gradients_has_no_such_form() -> None:
    assert "argmax-dim" in builtin_tasks()
    with pytest.raises(Exception, match="no task called"):
        task_named("argmax-dim-backward", None)


@pytest.mark.parametrize("name", sorted(formulas()))
def test_the_formula_of_our_kernel_is_the_gradient(name: str) -> None:
    task = task_named(f"{name}-backward", None)
    space: dict[str, Any] = {}
    exec(gradient_reference(builtin_tasks()[name]), space)
    asking = [w for w in task.judged if w.backward and w.backward.in_order]
    for workload in [w for w in asking if w.backward and w.backward.way == "once"]:
        given = make_inputs(task, workload, SEED)
        asked = workload.backward
        assert asked
        state = construct(task, workload, SEED).double()
        exact = results(Caller(state, exact=True), given, double=True)[-len(asked.by) :]
        model = space["Model"](*workload.init).double()
        model.load_state_dict(state.state_dict())
        held = dict(state.named_parameters())
        weights = [held[one].detach().numpy() for one in task_by(task) if one in held]
        tensors = (*given[: -1 - asked.upstream], *weights, *given[-1 - asked.upstream : -1])
        found = results(model_call(model), tensors, double=True)
        chosen = [a for a, one in zip(found, task_by(task), strict=True) if one in asked.by]
        for array, right in zip(chosen, exact, strict=True):
            np.testing.assert_allclose(array, right, rtol=1e-6, atol=1e-9, err_msg=workload.name)


def task_by(task: Task) -> tuple[str, ...]:
    first = task.workloads[0].backward
    assert first
    return first.by


def model_call(model: Any) -> Any:
    def call(*tensors: Any) -> tuple[Any, ...]:
        found = model(*tensors)
        return found if isinstance(found, tuple) else (found,)

    return call
