"""cuweld in the place of libnvJitLink, for programs that link GPU code while they run (cuda.core, numba-cuda and others).

Importing this module loads the libraries of this package. Whoever asks for libnvJitLink afterwards, by its name, gets them: the
system loads no second library of a name. So it has to be imported first:

    import cuweld_nvjitlink
    import cuda.core

PTX and LTO-IR are still compiled by the CUDA toolkit that CUWELD_TOOLKIT, CUDA_HOME or PATH leads to, or that is installed in the
same Python environment.
"""

import ctypes
import glob
import os

__all__ = ["libraries", "loaded"]

_FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib")


def libraries():
    """The paths of the libraries of this package, one for each version of the interface."""
    return sorted(glob.glob(os.path.join(_FOLDER, "*nvJitLink*")))


def _load(path):
    if os.name == "nt":
        return ctypes.WinDLL(path)
    return ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL)


#: The libraries, as `ctypes` knows them, by the names of their files.
loaded = {os.path.basename(path): _load(path) for path in libraries()}
