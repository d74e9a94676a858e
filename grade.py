"""`python grade.py samples/` is the same program as `kernel-grader samples/`."""

import sys

from grader.cli import main

if __name__ == "__main__":
    sys.exit(main())
