"""The compiler drivers that a submission's `load_inline` calls: standard library only, since they run in the guest."""
