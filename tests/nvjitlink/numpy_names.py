"""Some versions of numba-cuda use a name that newer versions of NumPy do not have any more."""
import numpy

if not hasattr(numpy, "row_stack"):
    numpy.row_stack = numpy.vstack
