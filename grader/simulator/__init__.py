"""The CPU simulator: PTX decoded in Python, run by an interpreter in C++, behind a look-alike of the CUDA runtime."""
