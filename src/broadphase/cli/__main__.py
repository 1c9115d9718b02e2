"""Run the command as ``python -m broadphase.cli``."""

import sys

from broadphase.cli import main

if __name__ == "__main__":
    sys.exit(main())
