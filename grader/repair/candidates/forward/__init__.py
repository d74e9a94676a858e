"""Small changes of `ModelNew.forward`, the Python around a program's kernels."""
