"""Performance: what costs time."""
