"""Links cubins with a libnvJitLink.so.12: link12.py LIBRARY ARCH OUTPUT CUBIN..."""

import ctypes
import sys

CUBIN = 1

path, arch, output, *cubins = sys.argv[1:]
library = ctypes.CDLL(path)


def call(name, *arguments):
    result = getattr(library, f"__nvJitLink{name}_12_9")(*arguments)
    if result != 0:
        sys.exit(f"{path}: {name} gives {result}")


handle = ctypes.c_void_p()
call("Create", ctypes.byref(handle), 1, (ctypes.c_char_p * 1)(f"-arch={arch}".encode()))
for cubin in cubins:
    with open(cubin, "rb") as file:
        contents = file.read()
    call("AddData", handle, CUBIN, contents, ctypes.c_size_t(len(contents)), cubin.encode())
call("Complete", handle)
size = ctypes.c_size_t()
call("GetLinkedCubinSize", handle, ctypes.byref(size))
image = ctypes.create_string_buffer(size.value)
call("GetLinkedCubin", handle, image)
with open(output, "wb") as file:
    file.write(image.raw)
call("Destroy", ctypes.byref(handle))
