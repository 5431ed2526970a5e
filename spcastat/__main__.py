"""Run the command ``spcastat`` as ``python -m spcastat``."""

from __future__ import annotations

import sys

from spcastat.cli import main

if __name__ == "__main__":
    sys.exit(main())
