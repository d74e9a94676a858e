"""BLD: what stops the build or the import, and what the compiler said."""
