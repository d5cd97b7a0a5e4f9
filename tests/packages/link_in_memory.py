"""Links cubins through the library that `import cuweld_nvjitlink` has loaded, found by its name alone."""

import ctypes
import sys

import cuweld_nvjitlink

assert cuweld_nvjitlink.loaded, cuweld_nvjitlink.libraries()
for name in cuweld_nvjitlink.loaded:
    library = ctypes.CDLL(name)
    handle = ctypes.c_void_p()
    options = (ctypes.c_char_p * 1)(b"-arch=sm_90")
    assert library.nvJitLinkCreate(ctypes.byref(handle), 1, options) == 0
    for path in sys.argv[1:]:
        data = open(path, "rb").read()
        assert library.nvJitLinkAddData(handle, 1, data, ctypes.c_size_t(len(data)), path.encode()) == 0
    assert library.nvJitLinkComplete(handle) == 0
    size = ctypes.c_size_t()
    assert library.nvJitLinkGetLinkedCubinSize(handle, ctypes.byref(size)) == 0
    image = ctypes.create_string_buffer(size.value)
    assert library.nvJitLinkGetLinkedCubin(handle, image) == 0
    assert image.raw.startswith(b"\x7fELF"), name
    assert library.nvJitLinkDestroy(ctypes.byref(handle)) == 0
    print(f"ok: {name} linked {size.value} bytes")
