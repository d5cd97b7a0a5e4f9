"""`python -m cuweld` runs the program."""

import os
import subprocess
import sys

from cuweld import find_program


def main():
    program = find_program()
    if os.name == "nt":
        # There, a program that replaces another is a new process, and nobody waits for it.
        sys.exit(subprocess.run([program, *sys.argv[1:]]).returncode)
    os.execv(program, [program, *sys.argv[1:]])


main()
