"""The forms that this machine permits, strongest first, each tested before use."""

from __future__ import annotations

import os
from functools import cache

from grader.errors import GraderError
from grader.sandbox.bubblewrap import Bubblewrap
from grader.sandbox.form import Form
from grader.sandbox.trial import hold
from grader.sandbox.without_namespaces import identity_form, landlock_form, unsafe_form


@cache
def candidates() -> tuple[Form, ...]:
    """All forms, strongest first, whether or not they hold here."""
    root = os.geteuid() == 0
    own = (identity_form(),) if root else ()
    return (*Bubblewrap.variants(root=root), landlock_form(root=root), *own)


@cache
def forms() -> tuple[Form, ...]:
    """Return the forms that hold on this machine, strongest first; tested once in each process."""
    return tuple(form for form in candidates() if not hold(form))


def strongest(*, unsafe: bool = False) -> Form:
    """Return the strongest form that holds; raises GraderError where none does.

    `unsafe` (--unsafe-no-sandbox) returns no isolation at all instead.
    """
    if unsafe:
        return unsafe_form()
    for form in candidates():
        if not hold(form):
            return form
    reasons = "; ".join(f"{form.name}: {hold(form)}" for form in candidates())
    raise GraderError(
        f"generated code can't be sandboxed on this machine ({reasons})",
        "allow user namespaces, or use a kernel with Landlock, or run as root, "
        "or accept the risk with --unsafe-no-sandbox",
    )
