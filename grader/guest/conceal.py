"""Takes this package out of the easy reach of generated code, just before the first line of it runs.

Nothing rests on it: whoever reads the memory of a process finds everything in it. It ends the
attacks that take one line, an import of the guest's own modules or a look through the collector's
lists, and what is left needs means that the text gives away.
"""

from __future__ import annotations

import builtins
import contextlib
import ctypes
import gc
import sys
from importlib.machinery import PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any

PACKAGE = "grader"
FOLDER = str(Path(__file__).resolve().parents[2])
PR_SET_DUMPABLE = 4


def conceal() -> None:
    """Forget the package's modules, the program's own names and where both came from.

    What they hold goes on working, as long as nothing of it imports later. The collector's lists
    lose every object that exists by now. Builtins that are exchanged from here on are not those that
    these modules call.
    """
    own = ModuleType("builtins")
    vars(own).update(vars(builtins))
    sys.modules["builtins"] = own
    for name in [name for name in sys.modules if name.partition(".")[0] == PACKAGE]:
        del sys.modules[name]
    sys.modules["__main__"] = ModuleType("__main__")
    sys.meta_path[:] = [finder for finder in sys.meta_path if not _leads_here(finder)]
    # An installed package shares its folder with torch, which must stay.
    if not (Path(FOLDER) / "torch").is_dir():
        sys.path[:] = [entry for entry in sys.path if entry != FOLDER]
        sys.path_importer_cache.pop(FOLDER, None)
    sys.argv[:] = ["guest"]
    gc.freeze()


def shut_memory_file() -> None:
    """Give `/proc/self/mem`, which ignores page protection, to root.

    Programs that this process starts have theirs as ever. Not where a GPU's driver is to work: there
    the GPU's memory is no memory of this process, and what a driver asks of /proc is its own matter.
    """
    ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, *map(ctypes.c_ulong, (0, 0, 0, 0)))


def _leads_here(finder: Any) -> bool:
    """Whether a finder is the one of an editable install, which knows this package alone."""
    if finder is PathFinder:
        return False
    with contextlib.suppress(Exception):  # other packages put finders of every make there
        return finder.find_spec(PACKAGE, None) is not None
    return False
