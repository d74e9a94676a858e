"""API: how the extension talks to PyTorch."""
