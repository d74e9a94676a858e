"""Rules on the gradients that a submission computes: GRD."""
