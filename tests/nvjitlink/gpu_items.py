"""Links through cuda.core and numba-cuda in every way there is, and runs the result on the GPU. One line per item.

With a stand-in for the driver (STAND_IN) the result is loaded, and numba-cuda, which runs what it links, is left out."""

import os
import sys
import traceback

import numpy as np

work = sys.argv[1]
expected_library = os.environ.get("CUWELD_EXPECTED")
stand_in = "STAND_IN" in os.environ
arch = os.environ["ARCH"]


def item(name, check):
    """Runs a check and says how it went."""
    try:
        check()
        print(f"PASS {name}", flush=True)
    except Exception as problem:
        traceback.print_exc()
        print(f"FAIL {name}: {type(problem).__name__}: {str(problem).splitlines()[0] if str(problem) else ''}", flush=True)


def read(name):
    with open(os.path.join(work, name), "rb") as file:
        return file.read()


def loaded_libraries():
    with open("/proc/self/maps") as maps:
        return {line.split()[-1] for line in maps if "libnvJitLink" in line or line.split()[-1] == expected_library}


def check_library():
    """The library to test is in use, and linked the image."""
    import cuda.bindings.nvjitlink as nvjitlink

    nvjitlink.version()
    libraries = loaded_libraries()
    print(f"# loaded: {sorted(libraries)}", flush=True)
    if expected_library:
        assert expected_library in libraries, libraries


COUNT = 1000


def expected_values():
    values = np.arange(COUNT, dtype=np.int32)
    return 3 * values + 1 + np.array([10, 20, 30, 40], dtype=np.int32)[values % 4]


def launch(image):
    """Runs the kernel of a linked image, and checks what it computes."""
    from cuda.core import Device, LaunchConfig, LegacyPinnedMemoryResource
    from cuda.core import launch as launch_kernel

    device = Device()
    device.set_current()
    if stand_in:
        assert image.get_kernel("apply").handle
        return
    stream = device.create_stream()
    kernel = image.get_kernel("apply")
    memory = LegacyPinnedMemoryResource()
    buffer = memory.allocate(COUNT * 4)
    values = np.from_dlpack(buffer).view(np.int32)
    values[:] = np.arange(COUNT, dtype=np.int32)
    launch_kernel(stream, LaunchConfig(grid=(COUNT + 127) // 128, block=128), kernel, values.ctypes.data, np.int32(COUNT))
    stream.sync()
    np.testing.assert_array_equal(values, expected_values())


def object_code(name):
    """A unit as cuda.core takes it."""
    from cuda.core import ObjectCode

    makers = {
        "cubin": ObjectCode.from_cubin,
        "ptx": ObjectCode.from_ptx,
        "fatbin": ObjectCode.from_fatbin,
        "o": ObjectCode.from_object,
        "a": ObjectCode.from_library,
        "ltoir": ObjectCode.from_ltoir,
    }
    return makers[name.rsplit(".", 1)[1]](read(name), name=name)


def link_with_core(kernel, function, **options):
    from cuda.core import Device, Linker, LinkerOptions

    Device().set_current()
    backend = Linker.which_backend() if callable(getattr(Linker, "which_backend", None)) else "nvJitLink"
    assert "nvjitlink" in str(backend).lower(), backend
    linker = Linker(object_code(kernel), object_code(function), options=LinkerOptions(arch=arch, **options))
    kind = "ptx" if options.get("ptx") else "cubin"
    linked = linker.link(kind)
    # The assembler alone makes an image that was optimized as a whole.
    if expected_library and not options.get("link_time_optimization"):
        assert b"cuweld" in bytes(linked.code), "another library made the image"
    return linked


def core_items():
    pairs = [(kind, kind) for kind in ("cubin", "ptx", "fatbin", "o", "a")]
    pairs += [("cubin", "ptx"), ("ptx", "fatbin"), ("o", "cubin")]
    for kernel, function in pairs:
        item(
            f"cuda.core: {kernel} and {function}",
            lambda: launch(link_with_core(f"kernel.{kernel}", f"function.{function}")),
        )
    optimized = {"link_time_optimization": True}
    item("cuda.core: LTO", lambda: launch(link_with_core("kernel.ltoir", "function.ltoir", **optimized)))
    item("cuda.core: LTO and cubin", lambda: launch(link_with_core("kernel.ltoir", "function.cubin", **optimized)))
    item("cuda.core: LTO to PTX", lambda: launch(link_with_core("kernel.ltoir", "function.ltoir", ptx=True, **optimized)))
    item("cuda.core: debug", lambda: launch(link_with_core("kernel.ptx", "function.ptx", debug=True)))
    item("cuda.core: few registers", lambda: launch(link_with_core("kernel.ptx", "function.ptx", max_register_count=32)))
    item("cuda.core: undefined name", lambda: core_refuses("kernel.cubin", None, "step"))
    if expected_library:
        item("cuweld: clash of names", lambda: core_refuses("function.cubin", "other_function.cubin", "step"))


def core_refuses(first, second, word):
    """The link fails, and the error says what is wrong."""
    from cuda.core import Device, Linker, LinkerOptions

    Device().set_current()
    codes = [object_code(name) for name in (first, second) if name]
    try:
        Linker(*codes, options=LinkerOptions(arch=arch)).link("cubin")
    except Exception as problem:
        assert word in str(problem), problem
        return
    raise AssertionError("the link succeeded")


def numba_items():
    import numpy_names  # noqa: F401: before numba-cuda
    from numba import cuda

    declared = "uint32(uint32, uint32)"
    for file, lto in [
        ("test_device_functions.cubin", False),
        ("test_device_functions.ptx", False),
        ("test_device_functions.fatbin", False),
        ("test_device_functions.o", False),
        ("test_device_functions.a", False),
        ("test_device_functions.ltoir", True),
        ("test_device_functions_multi.fatbin", True),
        ("test_device_functions.cubin", True),
    ]:

        def check(file=file, lto=lto):
            add_from_numba = cuda.declare_device("add_from_numba", declared)

            @cuda.jit(link=[os.path.join(work, file)], lto=lto)
            def kernel(result):
                index = cuda.grid(1)
                if index < result.size:
                    result[index] = add_from_numba(index, 2)

            result = cuda.device_array(COUNT, dtype=np.uint32)
            kernel[(COUNT + 127) // 128, 128](result)
            np.testing.assert_array_equal(result.copy_to_host(), np.arange(COUNT, dtype=np.uint32) + 2)

        item(f"numba-cuda: link={file.split('.', 1)[0][21:] + '.' + file.rsplit('.', 1)[1]} lto={lto}", check)


def many_threads():
    """Links and runs in 16 threads at once."""
    from concurrent.futures import ThreadPoolExecutor

    kinds = ["cubin", "ptx", "fatbin", "o"]

    def one(index):
        launch(link_with_core(f"kernel.{kinds[index % 4]}", f"function.{kinds[index // 4 % 4]}"))

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(one, range(64)))


item("cuda.bindings: the library is in use", check_library)
core_items()
item("cuda.core: 16 threads", many_threads)
if not stand_in:
    numba_items()
print(f"# loaded at the end: {sorted(loaded_libraries())}")
