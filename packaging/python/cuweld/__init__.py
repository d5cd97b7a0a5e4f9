"""The program cuweld, a linker for CUDA device code, as a Python package."""

import os
import sys
import sysconfig

__all__ = ["find_program"]


def find_program():
    """The path of the program that this package installed."""
    name = "cuweld" + (sysconfig.get_config_var("EXE") or "")
    user_scheme = sysconfig.get_preferred_scheme("user") if sys.version_info >= (3, 10) else os.name + "_user"
    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    folders = [
        sysconfig.get_path("scripts"),
        sysconfig.get_path("scripts", vars={"base": sys.base_prefix}),
        sysconfig.get_path("scripts", scheme=user_scheme),
        # `pip install --target`
        os.path.join(here, "bin"),
        os.path.join(here, "Scripts"),
    ]
    for folder in folders:
        path = os.path.join(folder, name)
        if os.path.isfile(path):
            return path
    raise FileNotFoundError("the program cuweld is not in any of " + ", ".join(folders))
