"""SEC: code that touches the system it runs on."""
