"""CHT: results that the kernel did not earn."""
