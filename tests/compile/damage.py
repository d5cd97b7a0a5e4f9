#!/usr/bin/env python3
"""Damages intermediate code inside of host objects and links it: usage: damage.py PROGRAM FOLDER COUNT

Whatever the bytes are, a link ends with a result or with an error that names the file, never with a crash."""
import os
import random
import struct
import subprocess
import sys

program, folder, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
os.chdir(folder)
subprocess.run(["nvcc", "-arch=sm_90", "-dlto", "-rdc=true", "--no-compress", "-c", "k1.cu", "-o", "plain.o"], check=True)
whole = open("plain.o", "rb").read()
# Where intermediate code is: the entries of kind 8 in the fatbin.
at, places = whole.find(b"\x50\xed\x55\xba") + 16, []
while at + 64 <= len(whole):
    kind, _, header, size = struct.unpack_from("<HHIQ", whole, at)
    if kind not in (1, 2, 8) or size > len(whole):
        break
    if kind == 8:
        places.append((at + header, size))
    at += header + size
start, size = places[0]
outcomes = {"linked": 0, "refused": 0}
for seed in range(count):
    chance = random.Random(seed)
    damaged = bytearray(whole)
    for _ in range(chance.choice([1, 1, 3, 10])):
        at = start + chance.randrange(size)
        damaged[at] = chance.choice([0, 255, damaged[at] ^ 1 << chance.randrange(8), chance.randrange(256)])
    open("damaged.o", "wb").write(damaged)
    done = subprocess.run([program, "-arch=sm_90", "-dlto", "--cache=off", "damaged.o", "f2.o", "-o", "damaged.cubin"], capture_output=True, timeout=120)
    if done.returncode not in (0, 1, 255) or b"panicked" in done.stderr:
        sys.exit(f"seed {seed}: status {done.returncode}: {done.stderr.decode(errors='replace')}")
    if done.returncode and b"damaged.o" not in done.stderr and b"optimiz" not in done.stderr and b"PTX" not in done.stderr:
        sys.exit(f"seed {seed}: the message names nothing: {done.stderr.decode(errors='replace')}")
    outcomes["refused" if done.returncode else "linked"] += 1
if not outcomes["refused"]:
    sys.exit("no damage was noticed: is it in the code at all?")
print(f"{count} damaged objects: {outcomes}")
