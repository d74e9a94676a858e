"""Edits that put one thing right with the author's own names: what rules' local fixes and `repair.fixes` are made of."""
