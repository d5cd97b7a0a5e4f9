"""Compiles what cl.exe is asked for under Wine (cl.c) with clang-cl, until it is stopped.

python3 compile.py REQUESTS CLANG_CL WINE_PREFIX FOLDER"""

import os
import re
import subprocess
import sys
import time

requests, compiler, prefix, folder = sys.argv[1:]
headers = os.path.join(os.path.dirname(os.path.abspath(__file__)), "include")
# Its own macros would tell the compiler from Microsoft's.
flags = ["--target=x86_64-pc-windows-msvc", "-fms-compatibility-version=19.40.33811", "-X", "-imsvc", headers, "-w", "-U__clang__", "-Brepro"]
os.chdir(folder)


def path(word):
    """A word with paths of this system in the place of those of the other one."""
    word = re.sub(r'\\(?!")', "/", word)
    word = re.sub(r"[Zz]:/+", "/", word)
    return re.sub(r"[Cc]:/+", lambda _: prefix + "/drive_c/", word)


def expand(words):
    """The words, with those of files that hold more (@FILE) in their place."""
    for word in words:
        if word.startswith("@"):
            text = open(path(word[1:]), encoding="latin-1").read()
            for found in re.findall(r'(?:"(?:\\"|[^"])*"|\\"|[^\s"])+', text):
                yield re.sub(r'(\\?)"', lambda quote: '"' if quote[1] else "", found)
        else:
            yield word


while True:
    for name in sorted(os.listdir(requests)):
        if not name.endswith(".request"):
            continue
        base = os.path.join(requests, name[: -len("request")])
        words = open(base + "arguments", encoding="latin-1").read().split("\0")[:-1]
        words = [path(word) for word in expand(words)]
        # Processes are numbered anew, so nothing of this one may stay.
        os.remove(base + "request")
        done = subprocess.run([compiler, *flags, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        with open(os.path.join(requests, "log"), "a") as log:
            log.write(f"{done.returncode} {words}\n{done.stderr.decode()}\n")
        with open(base + "printed", "wb") as out:
            out.write(done.stdout)
        with open(base + "status.new", "w") as out:
            out.write(str(done.returncode))
        os.rename(base + "status.new", base + "status")
    time.sleep(0.02)
