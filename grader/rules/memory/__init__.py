"""Memory: bounds, shared memory, alignment, buffers."""
