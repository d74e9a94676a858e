"""RED: reductions."""
