"""Makes the same links with two libraries and compares results, logs and images.

    differential.py LIBRARY REFERENCE FOLDER

Each link is made in a process of its own, so that one that crashes is one result among others. Forking such a process from one that has
linked already shows that links work in the child, too.
"""

import ctypes
import os
import re
import signal
import sys

library_path, reference_path, folder = sys.argv[1:4]
# The images are compared, so they need the same note.
os.environ["CUWELD_COMPAT"] = "nvjitlink-13.0.88"

CUBIN, PTX, LTOIR, FATBIN, OBJECT, LIBRARY, INDEX, ANY = 1, 2, 3, 4, 5, 6, 7, 10
SM_90 = ["-arch=sm_90"]
BAD_PTX = b".version 9.0\n.target sm_90\n.address_size 64\nfoo\n"
GARBAGE = b"garbage " * 20


def read(name):
    with open(os.path.join(folder, name), "rb") as file:
        return file.read()


class Input:
    """An input: its kind, its contents (or the file that has them), its name."""

    def __init__(self, kind, file=None, data=None, name=None):
        self.kind, self.name = kind, name if name is not None else file
        self.data = data if data is not None else read(file)

    def without_name(self):
        self.name = None
        return self


class Library:
    """A library, and one link with it."""

    def __init__(self, path):
        self.functions = ctypes.CDLL(path)
        self.handle = ctypes.c_void_p()

    def create(self, options):
        array = (ctypes.c_char_p * len(options))(*[option.encode() for option in options])
        return self.functions.nvJitLinkCreate(ctypes.byref(self.handle), len(options), array)

    def add(self, item):
        name = item.name.encode() if item.name is not None else None
        return self.functions.nvJitLinkAddData(self.handle, item.kind, item.data, ctypes.c_size_t(len(item.data)), name)

    def complete(self):
        return self.functions.nvJitLinkComplete(self.handle)

    def get(self, what):
        size = ctypes.c_size_t(4711)
        result = getattr(self.functions, f"nvJitLinkGet{what}Size")(self.handle, ctypes.byref(size))
        if result or size.value == 0:
            return result, size.value, None
        buffer = ctypes.create_string_buffer(size.value)
        result = getattr(self.functions, f"nvJitLinkGet{what}")(self.handle, buffer)
        return result, size.value, buffer.raw

    def destroy(self):
        return self.functions.nvJitLinkDestroy(ctypes.byref(self.handle)), self.handle.value


def without_times(log):
    """A log without what is different each time."""
    log = re.sub(rb"Compile time = [0-9.]+ ms", b"Compile time = T ms", log or b"")
    return re.sub(rb"(time [A-Za-z ]+: )[0-9.]+", rb"\1T", log)


def link(path, options, inputs):
    """All that a link comes to. A dictionary, so that single results can differ on purpose."""
    library = Library(path)
    outcome = {"create": library.create(options), "create log": library.get("ErrorLog")[2]}
    if outcome["create"] == 0:
        outcome["add"] = [library.add(item) for item in inputs]
        outcome["complete"] = library.complete()
        outcome["cubin"] = library.get("LinkedCubin")
        outcome["ptx"] = library.get("LinkedPtx")
        outcome["errors"] = without_times(library.get("ErrorLog")[2])
        outcome["infos"] = without_times(library.get("InfoLog")[2])
    outcome["destroy"] = library.destroy()
    return outcome


def isolated(*arguments):
    """What `link` returns, in a process of its own; its errors and its standard error, too."""
    out_read, out_write = os.pipe()
    err_read, err_write = os.pipe()
    child = os.fork()
    if child == 0:
        os.dup2(err_write, 2)
        signal.alarm(60)
        result = link(*arguments)
        with os.fdopen(out_write, "wb") as pipe:
            pipe.write(repr(result).encode())
        os._exit(0)
    os.close(out_write)
    os.close(err_write)
    with os.fdopen(out_read, "rb") as pipe:
        text = pipe.read()
    with os.fdopen(err_read, "rb") as pipe:
        printed = pipe.read()
    os.waitpid(child, 0)
    return (eval(text) if text else "crash"), printed


def units(*items):
    return [Input(kind, file) for kind, file in items]


PAIR = [(CUBIN, "kernel.cubin"), (CUBIN, "function.cubin")]
PTX_PAIR = [(PTX, "kernel.ptx"), (PTX, "function.ptx")]
LTO_PAIR = [(LTOIR, "kernel.ltoir"), (LTOIR, "function.ltoir")]
NO_IMAGE = (6, 4711, None)
CLASH = b"error   : Multiple definition of 'step' in '%s', first defined in '%s'\nERROR 9: finish\n\0"

# Options, inputs, and what differs on purpose.
LINKS = [
    (SM_90, units(*PAIR), {}),
    (SM_90, units(*reversed(PAIR)), {}),
    (SM_90, [], {}),
    (SM_90 + ["-verbose"], units(*PAIR), {}),
    (SM_90 + ["-time"], units(*PAIR), {}),
    (SM_90 + ["-g"], units(*PAIR), {}),
    (SM_90 + ["-r"], units(*PAIR), {}),
    (["-arch=sm_120", "-r"], [], {}),
    (SM_90 + ["-rdc=true"], units((CUBIN, "kernel.cubin")), {}),
    (SM_90 + ["-kernels-used=apply"], units(*PAIR), {}),
    (SM_90 + ["-kernels-used=nothing"], units(*PAIR), {}),
    (SM_90 + ["-variables-used=offsets"], units(*PAIR), {}),
    (SM_90, units((FATBIN, "kernel.fatbin"), (FATBIN, "function.fatbin")), {}),
    (SM_90, units((OBJECT, "kernel.o"), (OBJECT, "function.o")), {}),
    (SM_90, units((LIBRARY, "kernel.a"), (LIBRARY, "function.a")), {}),
    (SM_90, units((LIBRARY, "both.a")), {}),
    (SM_90, units((OBJECT, "kernel.o"), (CUBIN, "function.cubin")), {}),
    (SM_90, units((OBJECT, "program.o")), {}),
    (SM_90, units((LIBRARY, "libcudadevrt.a"), (OBJECT, "program.o")), {}),
    (SM_90 + ["-r"], units((OBJECT, "program.o"), (OBJECT, "kernel.o")), {}),
    (["-arch=sm_90a"], units((OBJECT, "program.o"), (OBJECT, "function.o")), {}),
    (SM_90, units((ANY, "kernel.cubin"), (ANY, "function.fatbin")), {}),
    (SM_90, units((ANY, "kernel.o"), (ANY, "function.a")), {}),
    (["-arch=sm_120"], units((CUBIN, "kernel.sm_120.cubin"), (CUBIN, "function.sm_120.cubin")), {}),
    (SM_90, units((CUBIN, "linked.cubin")), {}),
    (SM_90, units((OBJECT, "kernel.cubin")), {}),
    # PTX and intermediate code.
    (SM_90, units(*PTX_PAIR), {}),
    (SM_90 + ["-verbose"], units(*PTX_PAIR), {}),
    (SM_90 + ["-verbose", "-g"], units(*PTX_PAIR), {}),
    (SM_90 + ["-lineinfo", "-O3", "-maxrregcount=32"], units(*PTX_PAIR), {}),
    (SM_90 + ["-O0"], units(*PTX_PAIR), {}),
    (SM_90 + ["-Xptxas=-v"], units(*PTX_PAIR), {}),
    (SM_90, [Input(PTX, data=read("kernel.ptx") + b"\0", name="kernel"), Input(CUBIN, "function.cubin")], {}),
    (SM_90 + ["-lto"], units(*LTO_PAIR), {}),
    (SM_90 + ["-lto", "-verbose", "-time"], units(*LTO_PAIR), {}),
    (SM_90 + ["-dlto", "-ptx"], units(*LTO_PAIR), {}),
    (["-arch=compute_90", "-lto", "-ptx"], units(*LTO_PAIR), {}),
    (SM_90 + ["-lto", "-ftz=1", "-fma=0", "-prec-div=0", "-prec-sqrt=0", "-O3", "-ptx"], units(*LTO_PAIR), {}),
    (SM_90 + ["-lto"], units((LTOIR, "kernel.ltoir"), (CUBIN, "function.cubin")), {}),
    (SM_90 + ["-lto"], units((CUBIN, "kernel.cubin"), (LTOIR, "function.ltoir")), {}),
    # Mistakes.
    (SM_90, units((CUBIN, "kernel.cubin")), {"cubin": NO_IMAGE}),
    (SM_90, units((PTX, "kernel.ptx")), {"cubin": NO_IMAGE}),
    (
        SM_90,
        units(*PAIR, (CUBIN, "other_function.cubin")),
        {"complete": 6, "cubin": NO_IMAGE, "errors": CLASH % (b"other_function.cubin", b"function.cubin")},
    ),
    (SM_90, units((CUBIN, "kernel.sm_80.cubin")), {}),
    (SM_90, units((CUBIN, "kernel.sm_120.cubin")), {}),
    (["-arch=sm_120"], units((CUBIN, "kernel.cubin")), {}),
    (["-arch=sm_80"], units((FATBIN, "kernel.fatbin"), (OBJECT, "kernel.o"), (LIBRARY, "both.a")), {}),
    (SM_90, [Input(PTX, data=BAD_PTX, name="bad")], {}),
    (SM_90, [Input(PTX, data=BAD_PTX, name="bad").without_name()], {}),
    (SM_90, [Input(PTX, data=BAD_PTX, name="bad"), Input(CUBIN, "kernel.cubin")], {"cubin": NO_IMAGE}),
    (SM_90 + ["-Xptxas=-bogus"], units(*PTX_PAIR), {}),
    (SM_90 + ["-maxrregcount=abc"], units(*PTX_PAIR), {}),
    (SM_90, units(*LTO_PAIR), {}),
    (SM_90 + ["-lto"], units((LTOIR, "kernel.ltoir")), {}),
    (SM_90 + ["-lto"], units(*PAIR), {}),
    (SM_90 + ["-lto"], [], {}),
    (SM_90 + ["-lto", "-ptx"], units((LTOIR, "kernel.ltoir"), (CUBIN, "function.cubin")), {}),
    (SM_90 + ["-lto"], units(*LTO_PAIR, (LTOIR, "other_function.ltoir")), {}),
    (SM_90 + ["-lto", "-Xnvvm=--bogus"], units(*LTO_PAIR), {}),
    (SM_90 + ["-lto"], [Input(LTOIR, data=read("kernel.ltoir")[:200], name="cut")], {}),
    (SM_90, [Input(kind, data=GARBAGE, name="garbage") for kind in range(-1, 13)], {}),
    (SM_90, [Input(kind, data=GARBAGE).without_name() for kind in (0, CUBIN, ANY)], {}),
    (SM_90, [Input(CUBIN, "kernel.sm_80.cubin").without_name(), Input(CUBIN, "kernel.cubin").without_name()], {"cubin": NO_IMAGE}),
    (
        SM_90,
        units(
            (FATBIN, "kernel.cubin"), (CUBIN, "kernel.fatbin"), (PTX, "kernel.cubin"), (LIBRARY, "kernel.o"), (OBJECT, "kernel.a"),
            (CUBIN, "kernel.o"), (FATBIN, "kernel.o"), (CUBIN, "kernel.ptx"), (LTOIR, "kernel.ptx"), (FATBIN, "kernel.ltoir"),
        ),
        {},
    ),
]  # fmt: skip

ARCHITECTURES = """sm_10 sm_35 sm_50 sm_62 sm_70 sm_72 sm_75 sm_75a sm_80 sm_82 sm_90a sm_90f sm_99 sm_100f sm_100x sm_1000 sm_1a sm_ sm_0
    sm_a sm_-90 sm_090 SM_90 compute_90 compute_99 compute_50 lto_90 foo native 90""".split()
OPTIONS = """-O -O0 -O1 -O3 -O10 -Ox -O=3 -Ofc -Ofc= -Ofc=0 -Ofc=min -Ofc=bad -maxrregcount -maxrregcount= -maxrregcount=32 -ftz -ftz= -ftz=1
    -prec-div=1 -prec-sqrt=0 -fma=1 -ptx -lto -lto=1 -g -g=1 -verbose -verbose=1 -time -lineinfo -kernels-used= -kernels-used=x -kernels-used
    -variables-used=x -Xptxas= -Xptxas=x -Xptxas -Xnvvm= -Xnvvm=x -split-compile= -split-compile -split-compile-extended=2
    -jump-table-density=5 -no-cache -r -rx -relocatable -relocatable-link -rdc -rdc=true -uidx=nofile -uidx= -uidx - -- -arch= arch=sm_90
    -dlto -optimize-unused-variables -G -v -w -m64 -Werror -fmad=1 -bogus""".split()
LINKS += [([f"-arch={name}"], [], {}) for name in ARCHITECTURES]
LINKS += [(SM_90 + [option], [], {}) for option in OPTIONS + ["", " -g"]]
LINKS += [(options.split(), [], {}) for options in ("", "-g", "-bogus -arch=sm_99", "-arch=sm_99 -bogus", "-g -ptx", "-arch=sm_90 -ptx -O1",
    "-arch=compute_90 -arch=sm_90", "-arch=compute_90 -lto", "-arch=compute_99 -lto -ptx", "-r -lto -ptx -arch=sm_90")]  # fmt: skip


def is_compiled(inputs):
    """Whether code is compiled, so that the image has a note of the compiler's: another one outside the library than inside."""
    return any(item.data.startswith(b"\xed\x43\x4e\x7f") or b".version" in item.data[:2000] for item in inputs)


def compare(options, inputs, mended):
    reference, _ = isolated(reference_path, options, inputs)
    ours, printed = isolated(library_path, options, inputs)
    if printed:
        return [f"it printed {printed!r}"]
    if ours == "crash" or reference == "crash":
        return [] if reference == "crash" != ours else ["it crashed"]
    problems = []
    for key in {**reference, **ours}:
        expected, found = mended.get(key, reference.get(key)), ours.get(key)
        if key == "cubin" and is_compiled(inputs) and expected and found:
            expected, found = expected[:1], found[:1]
        if found != expected:
            problems.append(f"{key}: {repr(found)[:600]}, and not {repr(expected)[:600]}")
    return problems


def main():
    # The library has its threads when the first child is made.
    library = Library(library_path)
    library.create(SM_90)
    for item in units(*PAIR):
        library.add(item)
    library.complete()
    library.destroy()
    failed = 0
    for options, inputs, mended in LINKS:
        problems = compare(options, inputs, mended)
        failed += bool(problems)
        for problem in problems:
            print(f"FAIL {options} {[(item.kind, item.name) for item in inputs]}: {problem}")
    print(f"{len(LINKS)} links, {failed} of them differ")
    return failed != 0


sys.exit(main())
