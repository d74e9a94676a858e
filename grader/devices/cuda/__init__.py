"""A real GPU as a device: runs, time by a clock that programs can't reach, sanitizer and profiler."""
