"""Environments for other libraries, each with its extra: they pose tasks, grade answers and give feedback between turns."""
