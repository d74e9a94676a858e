"""Compiling submissions: compiler drivers behind torch's own load_inline, and what their logs say.

Imports nothing by itself: the drivers, which run in the guest, are part of this package.
"""
