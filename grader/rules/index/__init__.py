"""Indices and launch geometry."""
