"""STY: notes on style."""
