"""Fixes by messages of compilers, linkers and Python, one file for each kind of slip; `fixes.py` has them all."""
