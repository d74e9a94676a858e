"""The forms that this machine permits, strongest first, each tried before it is trusted."""

from __future__ import annotations

import os
from functools import cache

from grader.errors import GraderError
from grader.sandbox.bubblewrap import Bubblewrap
from grader.sandbox.form import Form
from grader.sandbox.trial import hold


@cache
def candidates() -> tuple[Form, ...]:
    """All forms, strongest first, whether or not they hold here."""
    return Bubblewrap.variants(os.geteuid())


@cache
def forms() -> tuple[Form, ...]:
    """Return the forms that hold on this machine, strongest first; tried once a process."""
    return tuple(form for form in candidates() if not hold(form))


def strongest(*, unsafe: bool = False) -> Form:
    """Return the strongest form that holds; raises GraderError where none does."""
    for form in candidates():
        if not hold(form):
            return form
    reasons = "; ".join(f"{form.name}: {hold(form)}" for form in candidates())
    raise GraderError(f"no form of isolation holds on this machine ({reasons})")
