"""The compilers that a submission's own `load_inline` call finds. Standard library only: runs in the guest."""
