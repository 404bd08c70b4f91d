"""`statelint`, and `python -m statelint`."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line, and exit with its code."""
    try:
        from statelint import cli  # here, so that Ctrl-C is quiet from the first moment on

        code = cli.main(sys.argv[1:])
    except KeyboardInterrupt:
        code = 130
    sys.exit(code)


if __name__ == "__main__":
    main()
