"""Renderings of reviews, one file for each format; each is a pure function of the results."""
