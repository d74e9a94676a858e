"""Fixes by what compilers, linkers and Python said, one file a kind of slip; `fixes.py` has them all."""
