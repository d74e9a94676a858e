"""Built-in tasks, one file each: the reference, its workloads, and the signs by which it is recognised."""
