"""Links cubins with a libnvJitLink: link.py LIBRARY ARCH OUTPUT CUBIN... That of CUDA 12 is called by the names that its own programs use."""

import ctypes
import sys

CUBIN = 1

path, arch, output, *cubins = sys.argv[1:]
library = ctypes.CDLL(path)


def call(name, *arguments):
    name = f"__nvJitLink{name}_12_9" if path.endswith(".so.12") else f"nvJitLink{name}"
    result = getattr(library, name)(*arguments)
    if result != 0:
        sys.exit(f"{path}: {name} gives {result}")


handle = ctypes.c_void_p()
call("Create", ctypes.byref(handle), 1, (ctypes.c_char_p * 1)(f"-arch={arch}".encode()))
names = [cubin.encode() for cubin in cubins]  # The library keeps pointers to them.
for cubin, name in zip(cubins, names):
    with open(cubin, "rb") as file:
        contents = file.read()
    call("AddData", handle, CUBIN, contents, ctypes.c_size_t(len(contents)), name)
call("Complete", handle)
size = ctypes.c_size_t()
call("GetLinkedCubinSize", handle, ctypes.byref(size))
image = ctypes.create_string_buffer(size.value)
call("GetLinkedCubin", handle, image)
with open(output, "wb") as file:
    file.write(image.raw)
call("Destroy", ctypes.byref(handle))
