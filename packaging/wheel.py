"""Packs a wheel: python3 wheel.py NAME VERSION TAG SUMMARY OUTPUT [--requires REQUIREMENT] PLACE=FILE...

PLACE is a path in the wheel; `scripts/` and `data/` stand for what is installed as a program, and below the environment's folder.
The time of every file is the same, so that the same files give the same wheel."""

import argparse
import base64
import hashlib
import os
import zipfile

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")


def main():
    parser = argparse.ArgumentParser()
    for name in ("name", "version", "tag", "summary", "output"):
        parser.add_argument(name)
    parser.add_argument("--requires", action="append", default=[])
    parser.add_argument("files", nargs="+")
    arguments = parser.parse_args()

    base = f"{arguments.name.replace('-', '_')}-{arguments.version}"
    info = f"{base}.dist-info"
    contents = {}
    for item in arguments.files:
        place, path = item.split("=", 1)
        if place.split("/")[0] in ("scripts", "data"):
            place = f"{base}.data/{place}"
        contents[place] = open(path, "rb").read()
    for licence in ("LICENSE-MIT", "LICENSE-APACHE"):
        contents[f"{info}/licenses/{licence}"] = open(os.path.join(ROOT, licence), "rb").read()
    readme = open(os.path.join(ROOT, "README.md")).read()
    metadata = [
        "Metadata-Version: 2.4",
        f"Name: {arguments.name}",
        f"Version: {arguments.version}",
        f"Summary: {arguments.summary}",
        "License-Expression: MIT OR Apache-2.0",
        "License-File: LICENSE-MIT",
        "License-File: LICENSE-APACHE",
        "Project-URL: Source, https://github.com/cuweld/cuweld",
        "Requires-Python: >=3.8",
        *(f"Requires-Dist: {requirement}" for requirement in arguments.requires),
        "Description-Content-Type: text/markdown",
        "",
        readme,
    ]
    contents[f"{info}/METADATA"] = "\n".join(metadata).encode()
    python, abi, platforms = arguments.tag.split("-", 2)
    tags = [f"Tag: {python}-{abi}-{platform}" for platform in platforms.split(".")]
    wheel = ["Wheel-Version: 1.0", "Generator: cuweld", "Root-Is-Purelib: false", *tags, ""]
    contents[f"{info}/WHEEL"] = "\n".join(wheel).encode()

    record = []
    for place, data in contents.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        record.append(f"{place},sha256={digest},{len(data)}\n")
    record.append(f"{info}/RECORD,,\n")
    contents[f"{info}/RECORD"] = "".join(record).encode()

    path = os.path.join(arguments.output, f"{base}-{arguments.tag}.whl")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for place, data in contents.items():
            entry = zipfile.ZipInfo(place, (1980, 1, 1, 0, 0, 0))
            mode = 0o755 if "/scripts/" in place or ".so" in place or place.endswith("worker") else 0o644
            entry.external_attr = (0o100000 | mode) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, data)
    print(path)


main()
