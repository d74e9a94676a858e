"""Small changes of a program's code, each one that its source could have."""

from .change import Change, Kind, Request
from .kernel_changes import changes_of

__all__ = ["Change", "Kind", "Request", "changes_of"]
