"""Fixes of Triton programs, from evidence of runs."""
