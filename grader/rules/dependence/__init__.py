"""DEP: rules on the provenance of values in runs."""
