"""PRF: performance."""
