"""Hides this package from easy access by generated code, just before the first line of it runs.

No protection depends on it: code that reads the process's memory finds everything. It stops attacks of one line, such
as an import of the guest's modules or a search of the collector's lists; the remaining ones need means that are visible
in the text.
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

    Their objects keep working, as long as none imports later. The collector's lists lose every object that exists now.
    These modules keep their builtins even if the originals are replaced later.
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

    Programs that this process starts keep theirs. Not used with a GPU's driver: the GPU's memory is not in this
    process, and the driver may need /proc.
    """
    ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, *map(ctypes.c_ulong, (0, 0, 0, 0)))


def _leads_here(finder: Any) -> bool:
    """Whether a finder is that of an editable install of this package alone."""
    if finder is PathFinder:
        return False
    with contextlib.suppress(Exception):  # other packages add finders of any kind
        return finder.find_spec(PACKAGE, None) is not None
    return False
