"""Sandboxed guests: forms of isolation, and one job with one guest."""

from grader.sandbox.form import Form
from grader.sandbox.forms import forms, strongest
from grader.sandbox.job import GuestJob, GuestOutput, GuestReply, GuestResult, GuestWorkload, Part
from grader.sandbox.limits import Limits, crowding
from grader.sandbox.session import converse
from grader.sandbox.trial import warm_up
from grader.sandbox.without_namespaces import reached_by, require_reach

__all__ = [
    "Form",
    "GuestJob",
    "GuestOutput",
    "GuestReply",
    "GuestResult",
    "GuestWorkload",
    "Limits",
    "Part",
    "converse",
    "crowding",
    "forms",
    "reached_by",
    "require_reach",
    "strongest",
    "warm_up",
]
