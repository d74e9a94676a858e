"""Ways in for other programs: protocols that agents and servers speak."""
