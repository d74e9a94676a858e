"""The compilers that a submission's `load_inline` finds: standard library only, for the guest."""
