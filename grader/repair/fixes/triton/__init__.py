"""Fixes of Triton programs, by what runs showed."""
