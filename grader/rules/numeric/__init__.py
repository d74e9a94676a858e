"""NUM: formulas and numerics."""
