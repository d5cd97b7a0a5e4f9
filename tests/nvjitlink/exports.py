"""Compares what the library exports with the list of what it has to: exports.py LIBRARY [12]."""

import subprocess
import sys

FUNCTIONS = """Create Destroy AddData AddFile Complete GetLinkedCubinSize GetLinkedCubin GetLinkedPtxSize GetLinkedPtx
    GetLinkedLTOIRSize GetLinkedLTOIR GetErrorLogSize GetErrorLog GetInfoLogSize GetInfoLog Version""".split()
MAJOR = sys.argv[2] if len(sys.argv) > 2 else "13"
VERSION = f"libnvJitLink.so.{MAJOR}"

expected = {"__nvJitLinkAPI"}
for function in FUNCTIONS:
    expected.add(f"nvJitLink{function}")
    expected.update(f"__nvJitLink{function}_{MAJOR}_{minor}" for minor in range(10))

listed = subprocess.run(["nm", "-D", "--defined-only", "--with-symbol-versions", sys.argv[1]], capture_output=True, text=True, check=True)
found = {line.split()[-1] for line in listed.stdout.splitlines()}
problems = [f"not exported: {name}" for name in sorted(expected) if f"{name}@@{VERSION}" not in found]
problems += [f"exported: {name}" for name in sorted(found) if name.removesuffix(f"@@{VERSION}") not in expected]

dynamic = subprocess.run(["readelf", "-dW", sys.argv[1]], capture_output=True, text=True, check=True).stdout
if f"soname: [{VERSION}]" not in dynamic:
    problems.append("the soname is wrong")
print("\n".join(problems), end="\n" if problems else "")
sys.exit(bool(problems))
