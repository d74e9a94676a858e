"""Grades and reviews CUDA kernels that language models wrote."""
