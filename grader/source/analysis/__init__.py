"""Named analyses of a submission's text, shared by rules and fixes, one question in each file."""
