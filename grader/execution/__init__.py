"""References and problem files run here, in guests of their own, and tasks are audited before they judge."""

from grader.execution.audit import AuditRow, audit, weaknesses
from grader.execution.describe import describe
from grader.execution.reference import reference
from grader.execution.trace import trace

__all__ = ["AuditRow", "audit", "describe", "reference", "trace", "weaknesses"]
