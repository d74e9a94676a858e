"""Rewritings that fix one defect with the author's own names, for rules' local fixes and `repair.fixes`."""
