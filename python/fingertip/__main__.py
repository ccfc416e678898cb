"""The program `fingertip`, and `python -m fingertip`: the command line of the library in Rust."""

import signal
import sys

from ._fingertip import _run


def main() -> None:
    """Runs the program with the arguments of this process, and ends it."""
    # Ctrl+C ends the program at once, as it does without Python.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(_run(sys.argv[1:]))


if __name__ == "__main__":
    main()
