"""Built-in tasks, one file each: the reference, its workloads, and what speaks for it."""
