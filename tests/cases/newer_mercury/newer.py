"""Makes an object whose .nv.compat says that its Mercury code is of version 1.9: newer.py OLD NEW"""
import struct
import sys

ISA_VERSION = 0x0D  # a record of two bytes
SIZED = 4           # the format of records whose value is the size of what follows

data = bytearray(open(sys.argv[1], "rb").read())
table, = struct.unpack_from("<Q", data, 40)
count, names = struct.unpack_from("<HH", data, 60)
header = lambda index: struct.unpack_from("<IIQQQQ", data, table + 64 * index)
strings = header(names)[4]
for index in range(count):
    name, _, _, _, at, size = header(index)
    if data[strings + name:].split(b"\0")[0] != b".nv.compat":
        continue
    end = at + size
    while at < end:
        kind, tag, value = struct.unpack_from("<BBH", data, at)
        if tag == ISA_VERSION:
            struct.pack_into("<H", data, at + 2, 0x0109)
        at += 4 + (value if kind == SIZED else 0)
open(sys.argv[2], "wb").write(data)
