"""CHT: results that the kernels did not compute."""
