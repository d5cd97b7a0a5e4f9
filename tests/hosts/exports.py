"""Checks what a library for Windows exports: what nvJitLink_130_0.dll does, 28 names."""

import struct
import sys

PUBLIC = [
    "AddData", "AddFile", "Complete", "Create", "Destroy", "GetErrorLog", "GetErrorLogSize", "GetInfoLog", "GetInfoLogSize",
    "GetLinkedCubin", "GetLinkedCubinSize", "GetLinkedPtx", "GetLinkedPtxSize", "Version",
]
EXPECTED = {f"nvJitLink{name}" for name in PUBLIC}
EXPECTED |= {f"__nvJitLink{name}_13_0" for name in PUBLIC if name != "Version"} | {"__nvJitLinkAPI"}


def exports(data):
    header = struct.unpack_from("<I", data, 0x3C)[0]
    sections, optional_size = struct.unpack_from("<H", data, header + 6)[0], struct.unpack_from("<H", data, header + 20)[0]
    table = struct.unpack_from("<I", data, header + 24 + 112)[0]

    def offset(address):
        for index in range(sections):
            size, start, raw_size, raw = struct.unpack_from("<IIII", data, header + 24 + optional_size + 40 * index + 8)
            if start <= address < start + max(size, raw_size):
                return raw + address - start
        raise ValueError(hex(address))

    count, _, names = struct.unpack_from("<III", data, offset(table) + 24)
    for index in range(count):
        name = offset(struct.unpack_from("<I", data, offset(names) + 4 * index)[0])
        yield data[name : data.index(b"\0", name)].decode()


found = set(exports(open(sys.argv[1], "rb").read()))
assert len(EXPECTED) == 28
assert found == EXPECTED, f"missing {sorted(EXPECTED - found)}, too many {sorted(found - EXPECTED)}"
print(f"ok: {len(found)} exports")
