"""Reductions: whose partial results reach the total."""
