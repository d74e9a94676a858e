"""Small changes of CUDA texts: what an expression, a statement, a launch or host code may have been meant to be."""
