"""Uses the library in processes that have little: no threads, no news of children, no memory, that close it, and that fork while other threads link.

usage: guest.py LIBRARY CUBIN; PTX is compiled only where CUDA_HOME names a toolkit."""

import _ctypes
import ctypes as C
import os
import resource
import signal
import sys
import tempfile
import threading
import time

LIBRARY, CUBIN = C.CDLL(sys.argv[1]), open(sys.argv[2], "rb").read()
PTX = b".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k() { ret; }\n\0"
INTERNAL = 6
problems = []


def link(data=CUBIN, kind=1):
    """The result of a link."""
    handle = C.c_void_p()
    result = LIBRARY.nvJitLinkCreate(C.byref(handle), 1, (C.c_char_p * 1)(b"-arch=sm_90"))
    result = result or LIBRARY.nvJitLinkAddData(handle, kind, data, C.c_size_t(len(data)), b"a")
    result = result or LIBRARY.nvJitLinkComplete(handle)
    size = C.c_size_t()
    LIBRARY.nvJitLinkGetErrorLogSize(handle, C.byref(size))
    log = C.create_string_buffer(size.value + 1)
    if size.value:
        LIBRARY.nvJitLinkGetErrorLog(handle, log)
    LIBRARY.nvJitLinkDestroy(C.byref(handle))
    return result, log.value.decode(errors="replace")


def child(what, work, expected=(0,), limit=60):
    """Runs work in a process of its own."""
    pid = os.fork()
    if pid == 0:
        result, log = work()
        if result not in expected:
            print(f"{what}: {result} {log[:300]}", flush=True)
        os._exit(0 if result in expected else 1)
    end = time.time() + limit
    while time.time() < end:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            if status:
                problems.append(f"{what}: status {status:#x}")
            return
        time.sleep(0.01)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    problems.append(f"{what}: hangs")


def without_threads():
    if os.getuid() == 0:
        os.setgid(65533)
        os.setuid(65533)
    resource.setrlimit(resource.RLIMIT_NPROC, (1, 1))
    link()
    return link()


def without_memory():
    data = CUBIN + bytes(300 << 20)
    # What is there already, and too little for a copy of the data.
    with open("/proc/self/statm") as statm:
        limit = int(statm.read().split()[0]) * resource.getpagesize() + (64 << 20)
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    return link(data)


def with_a_file(name):
    """The result of adding a file."""
    handle = C.c_void_p()
    LIBRARY.nvJitLinkCreate(C.byref(handle), 1, (C.c_char_p * 1)(b"-arch=sm_90"))
    return LIBRARY.nvJitLinkAddFile(handle, 1, name), "the result is another one"


def without_files():
    """All files that may be open are."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (8, 8))
    try:
        while True:
            os.dup(0)
    except OSError:
        return link()


def without_streams():
    """A service has closed what programs begin with."""
    for stream in range(3):
        os.close(stream)
    result = link()
    return result if result[0] or not os.environ.get("CUDA_HOME") else link(PTX, 2)


def unseen():
    """Nothing is printed, and no signal is handled in another way, whatever the input is like."""
    with tempfile.TemporaryFile() as printed:
        for stream in (1, 2):
            os.dup2(printed.fileno(), stream)
        # The C library has two for itself, 32 and 33, as soon as there are threads.
        own = ~(0b11 << 31)
        lines = lambda: [line.split() for line in open("/proc/self/status") if line.startswith(("SigBlk", "SigIgn", "SigCgt"))]
        signals = lambda: [(name, int(mask, 16) & own) for name, mask in lines()]
        before = signals()
        result, _ = link()
        for damaged in (CUBIN[:-1], CUBIN[:64] + bytes(len(CUBIN) - 64), b"", PTX):
            link(damaged)
        said = [] if os.fstat(printed.fileno()).st_size == 0 else ["something is printed"]
        said += [] if signals() == before else ["signals are handled otherwise"]
    return result or len(said), ", ".join(said)


def closing_again_and_again():
    """The library is closed while its threads wait for work, and opened once more."""
    global LIBRARY
    result = link()
    for _ in range(20):
        _ctypes.dlclose(LIBRARY._handle)
        time.sleep(0.001)
        LIBRARY = C.CDLL(sys.argv[1])
        result = result if result[0] else link()
    return result


def ignoring_children():
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    return link(PTX, 2)


def with_cache():
    """What is compiled is kept in the folder that the environment names."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["CUWELD_CACHE"] = folder
        first = link(PTX, 2)
        kept = [name for _, _, names in os.walk(folder) for name in names]
        return first if first[0] or kept else (1, "nothing is kept")


child("as usual", link)
child("closed and opened", closing_again_and_again)
child("without threads", without_threads)
child("unseen", unseen)
child("without files to open", without_files)
child("without streams", without_streams)
for name in (b"/dev/zero", b"/proc/self/mem", b".", b"\xff", b""):
    child(f"a file {name}", lambda: with_a_file(name), (3,))
child("without memory", without_memory, (INTERNAL, 4, 5))
if os.environ.get("CUDA_HOME"):
    child("SIGCHLD ignored", ignoring_children)
    child("with a cache", with_cache)

# A log that is empty has no byte, and none is written.
handle, size, log = C.c_void_p(), C.c_size_t(7), C.create_string_buffer(b"untouched")
LIBRARY.nvJitLinkCreate(C.byref(handle), 1, (C.c_char_p * 1)(b"-arch=sm_90"))
LIBRARY.nvJitLinkGetErrorLogSize(handle, C.byref(size))
LIBRARY.nvJitLinkGetErrorLog(handle, log)
if size.value != 0 or log.value != b"untouched":
    problems.append(f"an empty log has {size.value} bytes, and becomes {log.value}")
LIBRARY.nvJitLinkDestroy(C.byref(handle))

# Forks while other threads link.
is_over = threading.Event()
threads = [threading.Thread(target=lambda: [link() for _ in iter(is_over.is_set, True)]) for _ in range(4)]
for thread in threads:
    thread.start()
for number in range(int(os.environ.get("FORKS", "200"))):
    child(f"fork {number}", link, limit=20)
is_over.set()
for thread in threads:
    thread.join()
print("\n".join(problems), end="\n" if problems else "")
sys.exit(bool(problems))
