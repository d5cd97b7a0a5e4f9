"""Writes a COFF object: python3 coff.py OUTPUT MACHINE FORM SECTION=CONTENTS... (@FILE for a file's contents, \\0 for a NUL).
MACHINE is a hexadecimal number, FORM is `plain` or `big` (/bigobj)."""
import struct
import sys

output, machine, form, *sections = sys.argv[1:]
machine = int(machine, 16)
header_size = {"plain": 20, "big": 56}[form]
strings = bytearray(4)
headers = b""
contents = b""
start = header_size + 40 * len(sections)
for section in sections:
    name, _, value = section.partition("=")
    data = open(value[1:], "rb").read() if value.startswith("@") else value.encode().replace(b"\\0", b"\0")
    field = name.encode()
    if len(field) > 8:
        field = b"/%d" % len(strings)
        strings += name.encode() + b"\0"
    contents += b"\0" * (len(contents) % 2)
    headers += struct.pack("<8sIIIIIIHHI", field, 0, 0, len(data), start + len(contents), 0, 0, 0, 0, 0x40500040)
    contents += data
strings[:4] = struct.pack("<I", len(strings))
symbols = start + len(contents)
if form == "big":
    class_id = bytes.fromhex("c7a1bad1eebaa94baf20faf66aa4dcb8")
    header = struct.pack("<HHHHI16sIIIIIII", 0, 0xFFFF, 2, machine, 0, class_id, 0, 0, 0, 0, len(sections), symbols, 0)
else:
    header = struct.pack("<HHIIIHH", machine, len(sections), 0, symbols, 0, 0, 0)
open(output, "wb").write(header + headers + contents + strings)
