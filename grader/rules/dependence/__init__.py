"""Rules that rest on where values came from in a run: DEP."""
