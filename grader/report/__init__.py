"""Renderings of reviews, one file a format; each is a pure function of the results."""
