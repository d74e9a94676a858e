"""Small changes of CUDA texts: alternatives of an expression, a statement, a launch or host code."""
