"""Runs the links of tests/cases with a program for another host, and compares with what is stored.

python3 cases.py COMMAND --native COMMAND [--windows] [--reference COMMAND] [--only NAME]

COMMAND starts the linker; {name} in it is the name that it is to be called by, nvlink or cuweld. As nvlink it must give what is
stored, as cuweld what the program for this host gives (--native). With --reference, the stored inputs are linked with another linker
as well, and the two are compared. --windows allows for what is different there: ends of lines, and errors in the system's words."""

import argparse
import os
import re
import shlex
import subprocess
import sys
import tempfile

try:
    import tomllib
except ImportError:
    import tomli as tomllib

CASES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cases")
RATCHET = os.path.join(CASES, "..", "ratchet.toml")

# Links that can not give what is stored when the program runs elsewhere, and why.
NOT_ON_WINDOWS = {
    "option_host_linker_script": "there is no linker of Unix to ask for its script",
    "already_linked": "the recorded module names hold the path of the folder",
}

# Words of links in which nvlink.exe differs from nvlink for Linux, which the stored results are from, or is wrong.
REFERENCE_DIFFERS = {
    "-r ": "nvlink.exe takes -r and ignores it",
    "--host-ccbin": "an option that nvlink.exe does not have",
    "-ghls": "an option that nvlink.exe does not have",
    ".o ": "nvlink.exe passes over ELF host objects",
    "-L": "nvlink.exe looks for NAME.lib only, and never skips libraries for other hosts",
}


RELEASES = os.path.join(CASES, "..", "..", "crates", "cubin", "src", "release.rs")


def linkers():
    """The version of the linker of each release, the newest, and of each build."""
    found = {}
    for release, builds in re.findall(r'"([0-9.]+)" [0-9]+ mercury [^,]*,\s*nvlink \[([^]]*)\]', open(RELEASES).read()):
        versions = re.findall(r'"([0-9]+\.[0-9.]+)"', builds)
        found.update({version: version for version in versions}, **{release: versions[-1]})
    assert found.get("13.0") == "13.0.88", found
    return found


def files(folder):
    if not os.path.isdir(folder):
        return {}
    paths = [(name, os.path.join(folder, name)) for name in sorted(os.listdir(folder))]
    return {name: open(path, "rb").read() for name, path in paths if os.path.isfile(path)}


def link(command, name, recipe, arch, inputs, windows, compatible=None):
    """Status, messages and outputs of a case's links, as those of a version of the reference or as by default."""
    environment = dict(os.environ, WINEDEBUG="-all", RAYON_NUM_THREADS="1")
    environment.pop("CUWELD_COMPAT", None)
    if compatible:
        environment["CUWELD_COMPAT"] = "nvlink-" + compatible
    with tempfile.TemporaryDirectory() as folder:
        for file, contents in inputs.items():
            with open(os.path.join(folder, file), "wb") as out:
                out.write(contents)
        status, messages = 0, b""
        for line in recipe["link"]:
            words = shlex.split(command.replace("{name}", name)) + line.replace("{arch}", arch).split()
            done = subprocess.run(words, cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True)
            messages += done.stdout + done.stderr
            status = done.returncode
            if status != 0:
                break
        outputs = {}
        for file in recipe.get("outputs", ["out.cubin"]):
            path = os.path.join(folder, file)
            if os.path.exists(path):
                contents = open(path, "rb").read()
                outputs[file] = contents.replace(b"\r\n", b"\n") if windows and not contents.startswith(b"\x7fELF") else contents
    return status, messages.replace(b"\r\n", b"\n") if windows else messages, outputs


def difference(wanted, found):
    names = ("status", "messages", "outputs")
    for name, one, other in zip(names, wanted, found):
        if one != other:
            if name == "outputs":
                return ", ".join(file for file in {*one, *other} if one.get(file) != other.get(file))
            return f"{name}: {one!r} and {other!r}"
    return None


def without_words(outcome):
    """What a link came to, without the system's words for what went wrong there: its number stays."""
    status, messages, outputs = outcome
    return status, re.sub(rb">>> [^\n]* \(os error (\d+)\)", rb">>> (os error \1)", messages), outputs


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("command")
    parser.add_argument("--native", required=True)
    parser.add_argument("--windows", action="store_true")
    parser.add_argument("--reference")
    parser.add_argument("--only", default="")
    arguments = parser.parse_args()
    ratchet = tomllib.load(open(RATCHET, "rb"))
    ratchet = ratchet.get("cases", ratchet)
    versions = linkers()
    good = bad = compared = skipped = 0
    for case in sorted(os.listdir(CASES)):
        folder = os.path.join(CASES, case)
        if arguments.only not in case or not os.path.isdir(folder):
            continue
        recipe = tomllib.load(open(os.path.join(folder, "case.toml"), "rb"))
        for arch in recipe["archs"]:
            known = ratchet.get(case, {}).get(arch, "none")
            reason = NOT_ON_WINDOWS.get(case) if arguments.windows else None
            if reason or known == "none":
                skipped += 1
                continue
            inputs = {name: data for name, data in files(folder).items() if name != "case.toml"}
            inputs.update(files(os.path.join(folder, "inputs", arch)))
            expected = files(os.path.join(folder, "expected", arch))
            messages, _ = expected.pop("messages.nvlink", b""), expected.pop("messages.rich", b"")
            version = versions[recipe.get("release", "13.0")]
            found = link(arguments.command, "nvlink", recipe, arch, inputs, arguments.windows, version)
            problem = difference((recipe.get("status", 0), messages, expected), found)
            if not problem:
                native = link(arguments.native, "cuweld", recipe, arch, inputs, False)
                own = link(arguments.command, "cuweld", recipe, arch, inputs, arguments.windows)
                problem = difference(without_words(native), without_words(own))
            lines = " ".join(recipe["link"]) + " "
            if not problem and arguments.reference and "deviates" not in recipe and "release" not in recipe and known == "identical":
                if arguments.windows and any(word in lines for word in REFERENCE_DIFFERS):
                    skipped += 1
                else:
                    reference = link(arguments.reference, "nvlink", recipe, arch, inputs, arguments.windows)
                    problem = difference(reference, found)
                    compared += 1
            if problem:
                print(f"{case} {arch}: {problem}", flush=True)
            good, bad = good + (not problem), bad + bool(problem)
    print(f"{good} links are as stored, {bad} are not, {compared} were compared with the reference, {skipped} comparisons were left out")
    sys.exit(bad > 0 or good == 0)


main()
