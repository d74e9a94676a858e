"""EXT: what was handed in, and whether it keeps the contract of the task."""
