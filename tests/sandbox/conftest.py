"""Guests for the tests: small programs without a compiler, so that a test takes seconds."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from grader.sandbox import (
    Form,
    GuestJob,
    GuestReply,
    GuestWorkload,
    Limits,
    converse,
    forms,
    strongest,
)

Run = Callable[..., GuestReply]
LIMITS = Limits(wall=60)


@pytest.fixture(scope="session", params=range(3), ids=["strongest", "second", "third"])
def each_form(request: pytest.FixtureRequest) -> Form:
    """Every form that holds here."""
    if request.param >= len(forms()):
        pytest.skip(f"only {len(forms())} forms hold on this machine")
    return forms()[request.param]


@pytest.fixture
def run() -> Run:
    """Run `forward`'s body (indented as given) on one vector, under a form."""

    def call(
        body: str = "return x",
        *,
        top: str = "",
        form: Form | None = None,
        limits: Limits = LIMITS,
        args: tuple[Any, ...] = (np.arange(6, dtype=np.float32),),
        deadline: float | None = None,
        **job: Any,
    ) -> GuestReply:
        code = "import torch, os, sys\n" + textwrap.dedent(top) + "\n"
        code += "class ModelNew(torch.nn.Module):\n    def forward(self, x, *more):\n"
        code += textwrap.indent(textwrap.dedent(body).strip(), " " * 8) + "\n"
        values: dict[str, Any] = {
            "role": "submission",
            "code": code,
            "entry": "ModelNew",
            "device": "cpu",
            "workloads": (GuestWorkload("only", args, deadline),),
        } | job
        return converse(GuestJob(**values), form or strongest(), limits)

    return call
