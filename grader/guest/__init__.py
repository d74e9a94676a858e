"""The only code that shares a process with generated code: the standard library and torch."""
