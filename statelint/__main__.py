"""`statelint`, and `python -m statelint`."""

from __future__ import annotations

import sys

from statelint import cli


def main() -> None:
    """Run the command line, and exit with its code."""
    sys.exit(cli.main(sys.argv[1:]))


if __name__ == "__main__":
    main()
