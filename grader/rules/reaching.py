"""Functions that reach what is not a kernel's: SEC002 looks for them in the text, a build in its extension."""

IN_TEXT_AND_EXTENSION = frozenset({
    "dlmopen", "mprotect", "pkey_mprotect", "mremap", "remap_file_pages", "ptrace", "process_vm_readv",
    "process_vm_writev", "sigaction", "sysv_signal", "bsd_signal", "prctl", "arch_prctl", "syscall",
    "memfd_create",
})  # fmt: skip
"""Of the C library: no kernel's host code has a use for them."""
IN_TEXT = IN_TEXT_AND_EXTENSION | {
    "dlsym", "seccomp", "dup2", "cuMemGetAddressRange", "cuModuleLoadData", "cuModuleLoadDataEx", "cuModuleLoad",
    "cudaIpcOpenMemHandle", "cuPointerGetAttribute",
}  # fmt: skip
"""Those, and what libraries call for honest reasons: an extension with CUB's tracing imports `dlsym`."""
