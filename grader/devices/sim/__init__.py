"""The CPU simulator as a device: the submission's own build and calls, no GPU anywhere."""
