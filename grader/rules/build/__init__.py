"""BLD: failures of the build or the import, and compiler messages."""
