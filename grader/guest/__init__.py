"""The only code that shares a process with generated code; imports the standard library and torch only."""
