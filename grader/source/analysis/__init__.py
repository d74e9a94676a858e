"""Named analyses of a submission's text: what several rules and fixes ask about it, one question a file."""
