"""Functions that reach memory which is not the program's own: SEC001 looks for them in the text, a build in its extension.

A name alone proves nothing: a page that a program mapped itself is its own to protect, and a system call
may ask for a thread's number. What each of them is called with decides (`security/foreign_memory.py`).
"""

OTHER_PROCESSES = frozenset(
    {"ptrace", "process_vm_readv", "process_vm_writev", "cudaIpcOpenMemHandle"}
)
"""These reach into another process: no kernel has one to talk to."""
PROTECTION = frozenset({"mprotect", "pkey_mprotect", "mremap", "remap_file_pages"})
"""These open memory, or move it: their own pages' is a program's business, that of others is not."""
SYSTEM_CALLS = {
    10: "mprotect", 25: "mremap", 101: "ptrace", 216: "remap_file_pages", 310: "process_vm_readv",
    311: "process_vm_writev", 329: "pkey_mprotect",
}  # fmt: skip
"""The same by their numbers on x86-64, for `syscall`."""
IN_EXTENSION = (OTHER_PROCESSES - {"cudaIpcOpenMemHandle"}) | PROTECTION | {"syscall"}
"""What a built extension is searched for: a text that calls none of these, and an extension that does, hides it."""
RUNTIME = (
    r"__cudaRegister\w+|cuda(?:Launch|Memcpy|Memset|Malloc|Free|Event|Stream|Device|Graph|Func|Host|Get|Peek|Set)"
    r"[A-Z]\w*|cudaFree|cudaMalloc|cudaMemcpy|cudaMemset"
)
"""Functions of CUDA's runtime: who defines one stands between a program and the device that it is run on."""
