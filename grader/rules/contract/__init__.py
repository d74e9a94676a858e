"""EXT: extraction, and the contract of the task."""
