"""Runs numba-cuda's own tests of the linker. Those that compile CUDA C++ at run time may fail with either library."""
import importlib
import sys
import unittest

import numpy_names  # noqa: F401: before numba-cuda

suite = unittest.TestSuite()
for name in ("test_linker", "test_nvjitlink", "test_linkable_code"):
    module = importlib.import_module(f"numba.cuda.tests.cudadrv.{name}")
    suite.addTests(unittest.defaultTestLoader.loadTestsFromModule(module))
sys.exit(not unittest.TextTestRunner(verbosity=2).run(suite).wasSuccessful())
