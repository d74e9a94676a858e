"""Runs references and problem files in separate guests, and audits tasks before they are used."""

from grader.execution.audit import AuditRow, audit, weaknesses
from grader.execution.describe import describe
from grader.execution.reference import reference
from grader.execution.trace import trace

__all__ = ["AuditRow", "audit", "describe", "reference", "trace", "weaknesses"]
