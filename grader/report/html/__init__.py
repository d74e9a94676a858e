"""The report as static pages: an index and a page a sample, from files and without network."""

from grader.report.html.index import render as index
from grader.report.html.moved import render as moved
from grader.report.html.page import render as page

__all__ = ["index", "moved", "page"]
