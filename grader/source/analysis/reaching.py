"""Functions that reach memory outside the program: SEC001 looks for them in the text, a build in its extension.

A name alone proves nothing: a page that a program mapped itself is its own to protect, and a system call
may ask for a thread's number. What each of them is called with decides (`security/foreign_memory.py`).
"""

OTHER_PROCESSES = frozenset(
    {"ptrace", "process_vm_readv", "process_vm_writev", "cudaIpcOpenMemHandle"}
)
"""Functions that reach into another process, which no kernel needs."""
PROTECTION = frozenset({"mprotect", "pkey_mprotect", "mremap", "remap_file_pages"})
"""Functions that change the protection or mapping of memory, allowed only for a program's own pages."""
SYSTEM_CALLS = {
    10: "mprotect", 25: "mremap", 101: "ptrace", 216: "remap_file_pages", 310: "process_vm_readv",
    311: "process_vm_writev", 329: "pkey_mprotect",
}  # fmt: skip
"""The same by their numbers on x86-64, for `syscall`."""
IN_EXTENSION = (OTHER_PROCESSES - {"cudaIpcOpenMemHandle"}) | PROTECTION | {"syscall"}
"""Names searched for in a built extension: if only the extension has one, the text hides it."""
RUNTIME = (
    r"__cudaRegister\w+|cuda(?:Launch|Memcpy|Memset|Malloc|Free|Event|Stream|Device|Graph|Func|Host|Get|Peek|Set)"
    r"[A-Z]\w*|cudaFree|cudaMalloc|cudaMemcpy|cudaMemset"
)
"""Functions of CUDA's runtime: an extension that defines one intercepts the program's device calls."""
