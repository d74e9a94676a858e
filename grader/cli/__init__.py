"""Commands, options, exit codes; the only room that prints."""

from grader.cli import catalogue, github, grading, rewards, runs, services
from grader.cli.app import app
from grader.cli.entry import main

__all__ = ["app", "catalogue", "github", "grading", "main", "rewards", "runs", "services"]
