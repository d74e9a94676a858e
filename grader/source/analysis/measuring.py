"""Library functions with which a grader in the same process would measure, compare or draw."""

CLOCKS = (
    "time.", "timeit.", "torch.cuda.Event", "torch.cuda.synchronize", "torch.cuda.profiler.",
    "torch.utils.benchmark.", "torch.profiler.", "torch.autograd.profiler.", "triton.testing.",
)  # fmt: skip
COMPARISONS = (
    "torch.allclose", "torch.isclose", "torch.equal", "torch.eq", "torch.ne", "torch.testing.",
    "torch.Tensor.allclose", "torch.Tensor.isclose", "torch.Tensor.equal", "torch.Tensor.__eq__",
    "torch.Tensor.__ne__", "torch.Tensor.__sub__", "torch.Tensor.__rsub__", "torch.Tensor.eq",
    "numpy.allclose", "numpy.isclose", "numpy.array_equal", "numpy.testing.", "math.isclose", "statistics.",
)  # fmt: skip
DRAWS = (
    "torch.rand", "torch.randn", "torch.randint", "torch.rand_like", "torch.randn_like", "torch.randperm",
    "torch.manual_seed", "torch.cuda.manual_seed", "torch.Generator", "torch.get_rng_state",
    "random.", "numpy.random.",
)  # fmt: skip
CALLS = ("torch.nn.Module.__call__", "torch.nn.Module._call_impl", "torch.Tensor.cpu", "torch.Tensor.numpy",
         "torch.Tensor.tolist", "torch.Tensor.item")  # fmt: skip
ROLES = {
    "the clock": CLOCKS,
    "the comparison": COMPARISONS,
    "how inputs are drawn": DRAWS,
    "how a model is called and its result read": CALLS,
}


def role(name: str) -> str:
    """Return a grader's use of a library function; "" for one that decides no verdict."""
    return next((what for what, names in ROLES.items() if any(_is(name, one) for one in names)), "")


def _is(name: str, one: str) -> bool:
    """Whether a name is in the list, is part of an entry, or is a listed module."""
    return f"{name}.".startswith(one if one.endswith(".") else f"{one}.")
