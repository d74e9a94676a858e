"""The labelled kernels are material, not tests."""

collect_ignore_glob = ["kernels/*", "right/*", "triton/*"]
