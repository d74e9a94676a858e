"""Small changes of a program's code and of its launches, for runs that show what makes a result right."""

from grader.simulator.changes.arguments import argument_changes, float_arguments
from grader.simulator.changes.change import Change, Request
from grader.simulator.changes.kernel_changes import changes_of

__all__ = ["Change", "Request", "argument_changes", "changes_of", "float_arguments"]
