"""What is computed, and how exactly."""
